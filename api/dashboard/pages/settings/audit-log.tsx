import type { ApiDependencies } from '#api/http/dependencies.ts';
import type { Api } from '#api/http/route.ts';
import { nameActors } from '#shared/people/actors.ts';
import { listMembers, type Member } from '#shared/people/members/members.ts';
import { type AuditFilter, type AuditPage, readAuditLog } from '#shared/platform/audit-log.ts';
import type { AuditLog, Database } from '#shared/platform/database.ts';
import type { Environment } from '#shared/platform/environment.ts';
import { findRefundEnvironments } from '#shared/refunds/queries/find-refunds.ts';
import { ButtonLink, Submit } from '../../components/button.tsx';
import { SelectField, TextField } from '../../components/form.tsx';
import { Pages } from '../../components/list.tsx';
import { Empty } from '../../components/notice.tsx';
import { type Context, contextOf } from '../../http/access.ts';
import type { FormProblems, FormReading } from '../../http/forms.ts';
import { sendPage } from '../../http/render.ts';
import { Frame } from '../../layout/frame.tsx';
import { type EnteredAuditQuery, enteredAuditQuery, readAuditQuery } from './audit-query.ts';
import { AuditTable, actionLabels, describeAction } from './audit-table.tsx';

const path = '/settings/audit-log';
const pageSize = 50;

/** `/settings/audit-log`: the audit log of the organization, in both environments. */
export function auditLogPages(scope: Api, deps: ApiDependencies): void {
  scope.get(path, { config: { role: 'admin' } }, async (request, reply) => {
    const reading = readAuditQuery(request.query);
    const view = await readView(deps.db, contextOf(request), enteredAuditQuery(request.query), reading);
    return sendPage(reply.code(reading.kind === 'valid' ? 200 : 400), <AuditLogPage {...view} />);
  });
}

/** A page of entries, with what is needed to show them. */
export interface AuditView {
  context: Context;
  page: AuditPage;
  /** The filter as it was entered. */
  filter: EnteredAuditQuery;
  problems: FormProblems;
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
  { before, ...filter }: EnteredAuditQuery,
  reading: FormReading<AuditFilter>,
): Promise<AuditView> {
  const organizationId = context.organization.id;
  const page: AuditPage =
    reading.kind === 'valid'
      ? await readAuditLog(db, { organizationId, ...reading.value, before, limit: pageSize })
      : { entries: [], next: null };
  const targets = page.entries.map(({ target }) => target);
  return {
    context,
    page,
    filter,
    problems: reading.kind === 'valid' ? {} : reading.problems,
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
    <Frame
      context={context}
      title="Activity"
      section="activity"
      actions={
        <ButtonLink id="export" to={addressOf(context, filter, `${path}/export`)}>
          Export as CSV
        </ButtonLink>
      }
    >
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

function addressOf({ base }: Context, query: EnteredAuditQuery, page = path): string {
  const given = Object.entries(query).flatMap(([name, value]) =>
    value === undefined ? [] : [[name, value]],
  );
  const text = new URLSearchParams(given).toString();
  return `${base}${page}${text === '' ? '' : `?${text}`}`;
}

function FilterForm({ context, filter, problems, members, names }: AuditView) {
  const { actor, action } = filter;
  const actors = new Map(members.map(({ userId, email }) => [`user:${userId}`, email]));
  if (actor !== undefined && !actors.has(actor)) actors.set(actor, names.get(actor) ?? actor);
  const actions = new Map(actionLabels);
  if (action !== undefined && !actions.has(action)) actions.set(action, describeAction(action));
  const form = { body: filter, problems };
  return (
    <form method="get" action={`${context.base}${path}`} class="card stack">
      <div class="fields">
        <SelectField form={form} name="actor" label="Actor" choices={[['', 'All actors'], ...actors]} />
        <SelectField form={form} name="action" label="Action" choices={[['', 'All actions'], ...actions]} />
        <TextField form={form} name="from" label="From (UTC)" type="date" />
        <TextField form={form} name="to" label="To (UTC)" type="date" />
      </div>
      <div>
        <Submit>Filter</Submit>
      </div>
    </form>
  );
}
