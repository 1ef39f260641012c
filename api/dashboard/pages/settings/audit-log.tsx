import { z } from 'zod';
import type { ApiDependencies } from '#api/http/dependencies.ts';
import type { Api } from '#api/http/route.ts';
import { nameActors } from '#shared/people/actors.ts';
import { listMembers, type Member } from '#shared/people/members/members.ts';
import { type AuditFilter, type AuditPage, readAuditLog } from '#shared/platform/audit-log.ts';
import type { AuditLog, Database } from '#shared/platform/database.ts';
import type { Environment } from '#shared/platform/environment.ts';
import { findRefundEnvironments } from '#shared/refunds/queries/find-refunds.ts';
import { ButtonLink, Submit } from '../../components/button.tsx';
import { SelectField } from '../../components/form.tsx';
import { Pages } from '../../components/list.tsx';
import { Empty } from '../../components/notice.tsx';
import { type Context, contextOf } from '../../http/access.ts';
import { sendPage } from '../../http/render.ts';
import { Frame } from '../../layout/frame.tsx';
import { AuditTable, actionLabels, describeAction } from './audit-table.tsx';

const path = '/settings/audit-log';
const pageSize = 50;

/** An empty text, or one that no entry can have, means no filter. */
const filterText = z
  .string()
  .regex(/^[^\p{Cc}]{1,200}$/u)
  .optional()
  .catch(undefined);
const querySchema = z.object({ actor: filterText, action: filterText, before: filterText });

/** `/settings/audit-log`: the audit log of the organization, in both environments. */
export function auditLogPages(scope: Api, deps: ApiDependencies): void {
  scope.get(path, { config: { role: 'admin' } }, async (request, reply) => {
    const context = contextOf(request);
    const query = querySchema.parse(request.query);
    const view = await readView(deps.db, context, query);
    return sendPage(reply, <AuditLogPage {...view} />);
  });
}

/** A page of entries, with what is needed to show them. */
export interface AuditView {
  context: Context;
  page: AuditPage;
  filter: AuditFilter;
  members: readonly Member[];
  /** The display names of actors and affected users. */
  names: ReadonlyMap<string, string>;
  /** The environments of refunds in the entries, by id. */
  refundEnvironments: ReadonlyMap<string, Environment>;
  /** Whether this is the first page. */
  isNewest: boolean;
}

async function readView(
  db: Database,
  context: Context,
  { actor, action, before }: z.infer<typeof querySchema>,
): Promise<AuditView> {
  const organizationId = context.organization.id;
  const filter = { actor, action };
  const page = await readAuditLog(db, { organizationId, ...filter, before, limit: pageSize });
  const targets = page.entries.map(({ target }) => target);
  return {
    context,
    page,
    filter,
    members: await listMembers(db, organizationId),
    // Only from the page's own entries: a filter may name users of other organizations.
    names: await nameActors(db, organizationId, page.entries.flatMap(actorsIn)),
    refundEnvironments: await findRefundEnvironments(db, organizationId, targets),
    isNewest: before === undefined,
  };
}

/** The actor, and the affected user. */
function actorsIn({ actor, target }: AuditLog): string[] {
  return target.startsWith('usr_') ? [actor, `user:${target}`] : [actor];
}

function AuditLogPage(view: AuditView) {
  const { context, page, filter, isNewest } = view;
  return (
    <Frame context={context} title="Activity" section="activity">
      <p class="muted">
        All changes by people in {context.organization.name}, in test and live. Entries can't be edited or
        deleted.
      </p>
      <FilterForm {...view} />
      {page.entries.length === 0 ? (
        <Empty title="No matching entries">
          <p>Change or clear the filters.</p>
          <ButtonLink to={addressOf(context, {})}>Clear filters</ButtonLink>
        </Empty>
      ) : (
        <AuditTable {...view} />
      )}
      <Pages
        newest={isNewest ? null : addressOf(context, filter)}
        older={page.next && addressOf(context, { ...filter, before: page.next })}
      />
    </Frame>
  );
}

function addressOf({ base }: Context, query: AuditFilter & { before?: string }): string {
  const given = Object.entries(query).filter(([, value]) => value !== undefined);
  const text = new URLSearchParams(given).toString();
  return `${base}${path}${text === '' ? '' : `?${text}`}`;
}

function FilterForm({ context, filter: { actor, action }, members, names }: AuditView) {
  const actors = new Map(members.map(({ userId, email }) => [`user:${userId}`, email]));
  if (actor !== undefined && !actors.has(actor)) actors.set(actor, names.get(actor) ?? actor);
  const actions = new Map(actionLabels);
  if (action !== undefined && !actions.has(action)) actions.set(action, describeAction(action));
  const form = { body: { actor, action }, problems: {} };
  return (
    <form method="get" action={`${context.base}${path}`} class="card stack">
      <div class="fields">
        <SelectField form={form} name="actor" label="Actor" choices={[['', 'All actors'], ...actors]} />
        <SelectField form={form} name="action" label="Action" choices={[['', 'All actions'], ...actions]} />
      </div>
      <div>
        <Submit>Filter</Submit>
      </div>
    </form>
  );
}
