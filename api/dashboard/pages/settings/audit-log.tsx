import { z } from 'zod';
import { listMembers, type Member } from '../../../../shared/people/find-members.ts';
import { nameActors } from '../../../../shared/people/name-actors.ts';
import { type AuditFilter, type AuditPage, readAuditLog } from '../../../../shared/platform/audit-log.ts';
import type { AuditLog, Database } from '../../../../shared/platform/database.ts';
import type { Environment } from '../../../../shared/platform/environment.ts';
import { findRefundEnvironments } from '../../../../shared/refunds/queries/find-refunds.ts';
import type { ApiDependencies } from '../../../http/dependencies.ts';
import type { Api } from '../../../http/route.ts';
import { type Context, contextOf } from '../../http/access.ts';
import { sendPage } from '../../http/render.ts';
import { Empty } from '../../layout/notice.tsx';
import { AuditTable } from './audit-table.tsx';
import { actionWords, wordsForAction } from './audit-words.ts';
import { SettingsFrame } from './settings-frame.tsx';

const path = '/settings/audit-log';
const pageSize = 50;

/** What is not chosen comes as an empty text; what cannot be in the log is taken as not chosen. */
const chosen = z
  .string()
  .regex(/^[^\p{Cc}]{1,200}$/u)
  .optional()
  .catch(undefined);
const querySchema = z.object({ actor: chosen, action: chosen, before: chosen });

/** `/settings/audit-log`: who changed what in the organization, in both environments. */
export function auditLogPages(room: Api, deps: ApiDependencies): void {
  room.get(path, { config: { role: 'admin' } }, async (request, reply) => {
    const context = contextOf(request);
    const query = querySchema.parse(request.query);
    const view = await readView(deps.db, context, query);
    return sendPage(reply, <AuditLogPage {...view} />);
  });
}

/** Entries with what they speak of. */
export interface AuditView {
  context: Context;
  page: AuditPage;
  filter: AuditFilter;
  members: readonly Member[];
  /** Who acted and whom it concerned, in words. */
  names: ReadonlyMap<string, string>;
  /** Where the refunds are that entries speak of. */
  refundEnvironments: ReadonlyMap<string, Environment>;
  /** False on the pages that go on from another one. */
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
    // Of the page's own entries alone: what an address names may be anybody's.
    names: await nameActors(db, organizationId, page.entries.flatMap(peopleIn)),
    refundEnvironments: await findRefundEnvironments(db, organizationId, targets),
    isNewest: before === undefined,
  };
}

/** Who acted, and the person whom it concerned. */
function peopleIn({ actor, target }: AuditLog): string[] {
  return target.startsWith('usr_') ? [actor, `user:${target}`] : [actor];
}

function AuditLogPage(view: AuditView) {
  const { context, page, filter, isNewest } = view;
  return (
    <SettingsFrame context={context} page="audit-log">
      <div class="stack">
        <p class="muted">
          Everything that somebody has done in {context.organization.name}, in test and live, and when members
          signed in and out. Entries are never changed or deleted.
        </p>
        <FilterForm {...view} />
        {page.entries.length === 0 ? (
          <Empty title="No such entry">
            <p>Nobody has done this yet. Choose another person or act, or see everything.</p>
            <a class="button" href={addressOf(context, {})}>
              See everything
            </a>
          </Empty>
        ) : (
          <AuditTable {...view} />
        )}
        <nav class="row" aria-label="Pages">
          {isNewest ? null : (
            <a class="button" href={addressOf(context, filter)}>
              Newest
            </a>
          )}
          {page.next === null ? null : (
            <a class="button" href={addressOf(context, { ...filter, before: page.next })}>
              Older
            </a>
          )}
        </nav>
      </div>
    </SettingsFrame>
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
  const actions = new Map(actionWords);
  if (action !== undefined && !actions.has(action)) actions.set(action, wordsForAction(action));
  return (
    <form method="get" action={`${context.base}${path}`} class="card fields">
      <Choice name="actor" label="Who" all="Everybody" options={actors} value={actor} />
      <Choice name="action" label="Did what" all="Everything" options={actions} value={action} />
      <div class="field">
        <span class="label" aria-hidden="true">
          &nbsp;
        </span>
        <button type="submit" class="button">
          Show
        </button>
      </div>
    </form>
  );
}

interface ChoiceProps {
  name: string;
  label: string;
  /** Stands for not choosing. */
  all: string;
  options: ReadonlyMap<string, string>;
  value: string | undefined;
}

function Choice({ name, label, all, options, value }: ChoiceProps) {
  return (
    <div class="field">
      <label for={name}>{label}</label>
      <select id={name} name={name}>
        <option value="">{all}</option>
        {[...options].map(([each, text]) => (
          <option key={each} value={each} selected={each === value}>
            {text}
          </option>
        ))}
      </select>
    </div>
  );
}
