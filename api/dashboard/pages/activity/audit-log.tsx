import type { FastifyReply, FastifyRequest } from 'fastify';
import { z } from 'zod';
import type { ApiDependencies } from '#api/http/dependencies.ts';
import type { Api } from '#api/http/route.ts';
import { nameActors } from '#shared/audit/actors.ts';
import {
  type AuditAction,
  type AuditFilter,
  auditActions,
  findAuditEntries,
} from '#shared/audit/audit-log.ts';
import { listMembers } from '#shared/people/members/members.ts';
import { pageOf } from '#shared/platform/cursor.ts';
import type { AuditLog } from '#shared/platform/database.ts';
import { isEnvironment } from '#shared/platform/environment.ts';
import { findRefundEnvironments } from '#shared/refunds/queries/find-refunds.ts';
import { ButtonLink, Link } from '../../components/button.tsx';
import { FilterForm } from '../../components/filter-form.tsx';
import { List, Pages } from '../../components/list.tsx';
import { Empty } from '../../components/notice.tsx';
import { ExactTime } from '../../components/values.tsx';
import { contextOf, useMember } from '../../http/access.ts';
import { cursorIn, dayField, endOfRange, filterIn } from '../../http/filter.ts';
import { page } from '../../http/page.ts';
import { accountsPath, dashboardPath, withQuery } from '../../http/paths.ts';
import { Frame } from '../../layout/frame.tsx';
import { inMoney } from '../../words/numbers.ts';
import type { Choices } from '../../words/words.ts';

const path = '/settings/audit-log';
const pageSize = 50;

/** One that no entry can have means no filter. */
const filterText = (title: string) =>
  z
    .string()
    .regex(/^[^\p{Cc}]{1,200}$/u)
    .optional()
    .catch(undefined)
    .meta({ title });

export const auditFilterSchema = z
  .object({
    actor: filterText('Actor'),
    action: filterText('Action'),
    from: dayField('From (UTC)'),
    to: dayField('To (UTC)'),
  })
  .transform(({ from, to, ...filter }, context): AuditFilter => {
    return { ...filter, since: from, until: endOfRange({ from, to }, context) };
  });

/** `/settings/audit-log`: the audit log of the organization, in both environments. */
export function auditLogPages(scope: Api, deps: ApiDependencies): void {
  page(scope, path, 'admin', (request, reply) => readView(deps, request, reply), AuditLogPage);
}

/** A page of entries, with what is needed to show them. */
async function readView(deps: ApiDependencies, request: FastifyRequest, reply: FastifyReply) {
  const { db } = deps;
  const organizationId = contextOf(request).organization.id;
  const filter = filterIn(auditFilterSchema, request.query);
  const cursor = cursorIn(request.query);
  const { reading } = filter;
  if (reading.kind === 'invalid') reply.code(400);
  const { rows: entries, next } =
    reading.kind === 'invalid'
      ? { rows: [], next: null }
      : await pageOf(
          { cursor, limit: pageSize },
          (before, limit) =>
            deps.slowReads(organizationId, () =>
              findAuditEntries(db, { organizationId, ...reading.value }, before, limit),
            ),
          (entry) => entry,
        );
  const targets = entries.map(({ target }) => target);
  return {
    ...{ entries, next, cursor, filter },
    members: await listMembers(db, organizationId),
    /** The display names of actors and affected users of the page's own entries: a filter may name users of other organizations. */
    names: await nameActors(db, organizationId, entries.flatMap(actorsIn)),
    /** The environments of refunds in the entries, by id. */
    refundEnvironments: await findRefundEnvironments(db, organizationId, targets),
  };
}

type AuditView = Awaited<ReturnType<typeof readView>>;

/** The actor, and the affected user. */
function actorsIn({ actor, target }: AuditLog): string[] {
  return target.startsWith('usr_') ? [actor, `user:${target}`] : [actor];
}

function AuditLogPage(view: AuditView) {
  const { entries, next, filter, cursor } = view;
  return (
    <Frame
      title="Activity"
      section="activity"
      actions={
        <ButtonLink id="export" to={withQuery(`${path}/export`, filter.entered)}>
          Export as CSV
        </ButtonLink>
      }
    >
      <p class="muted">
        All changes by people in {useMember().organization.name}, in test and live. Entries can't be edited or
        deleted.
      </p>
      <FilterForm to={path} schema={auditFilterSchema} filter={filter} choices={choicesFor(view)} />
      {entries.length === 0 ? (
        <Empty title="No matching entries">
          <p>Change or clear the filters.</p>
          <ButtonLink to={path}>Clear filters</ButtonLink>
        </Empty>
      ) : (
        <AuditTable {...view} />
      )}
      <Pages to={path} filter={filter.entered} cursor={cursor} older={next} />
    </Frame>
  );
}

/** The choices include the current actor and action, also when they are no longer known. */
function choicesFor({ filter, members, names }: AuditView): Record<string, Choices> {
  const { actor, action } = filter.entered as { actor?: string; action?: string };
  const actors = new Map(members.map(({ userId, email }) => [`user:${userId}`, email]));
  if (actor !== undefined && !actors.has(actor)) actors.set(actor, names.get(actor) ?? actor);
  const actions = new Map<string, string>(Object.entries(auditActions));
  if (action !== undefined) actions.set(action, describeAction(action));
  return { actor: [['', 'All actors'], ...actors], action: [['', 'All actions'], ...actions] };
}

/** The label of an action; an action of another version of the service is shown by its name. */
function describeAction(action: string): string {
  return Object.hasOwn(auditActions, action)
    ? auditActions[action as AuditAction]
    : action.replaceAll(/[._]/g, ' ');
}

/** A table of audit entries. An actor links to all its entries. */
function AuditTable({ entries, ...view }: AuditView) {
  return (
    <List
      caption="Activity, newest first"
      isCompact
      items={entries}
      columns={[
        ['Time', ({ createdAt }) => <ExactTime at={createdAt} />],
        [
          'Actor',
          ({ actor }) => (
            <Link to={withQuery(path, { actor })}>
              <bdi>{view.names.get(actor) ?? actor}</bdi>
            </Link>
          ),
        ],
        [
          'Action',
          (entry) => (
            <span>
              {describeAction(entry.action)} <Target {...view} entry={entry} />
            </span>
          ),
        ],
        ['Details', ({ detail }) => <Detail detail={detail} />],
      ]}
    />
  );
}

interface TargetProps extends Pick<AuditView, 'names' | 'refundEnvironments'> {
  entry: AuditLog;
}

/** Links to what was changed, where it has a page. */
function Target({ names, refundEnvironments, entry: { target, detail } }: TargetProps) {
  const isRefund = target.startsWith('ref_');
  const path = usePathTo(target, isRefund ? refundEnvironments.get(target) : environmentIn(detail));
  const text = names.get(`user:${target}`) ?? target;
  if (path === null) return target.startsWith('usr_') ? <span class="muted">{text}</span> : null;
  return <Link to={path}>{text}</Link>;
}

function usePathTo(target: string, environment: string | null | undefined): string | null {
  const base = `${dashboardPath}/${useMember().organization.id}/${environment}`;
  if (environment === null || environment === undefined) return null;
  if (target.startsWith('ref_')) return `${base}/refunds/${target}`;
  if (target.startsWith('key_')) return `${base}/settings/api-keys#${target}`;
  if (target.startsWith('acc_')) return `${base}${accountsPath}/${target}`;
  if (target.startsWith('we_')) return `${base}/webhooks/${target}`;
  return null;
}

function environmentIn(detail: AuditLog['detail']): string | null {
  if (typeof detail !== 'object' || detail === null || !('environment' in detail)) return null;
  const { environment } = detail;
  return typeof environment === 'string' && isEnvironment(environment) ? environment : null;
}

/** Simple details in one line; nested ones are folded. */
function Detail({ detail }: Pick<AuditLog, 'detail'>) {
  if (typeof detail !== 'object' || detail === null) return null;
  const facts = factsIn(detail);
  if (!Object.values(detail).some(isObject)) return <span class="small">{facts.join(', ')}</span>;
  return (
    <details class="small">
      <summary>Show</summary>
      <ul class="stack-tight">
        {facts.map((fact) => (
          <li key={fact}>{fact}</li>
        ))}
      </ul>
    </details>
  );
}

function isObject(value: unknown): value is object {
  return typeof value === 'object' && value !== null;
}

/** "payment: ch_1", "amount: 12.34 USD", "limits (currency: usd, reasons: other)". */
function factsIn(detail: object): string[] {
  const { currency } = detail as { currency?: unknown };
  const inWords = (name: string, value: unknown): string => {
    if (Array.isArray(value)) return `${name}: ${value.join(', ')}`;
    if (isObject(value)) return `${name} (${factsIn(value).join(', ')})`;
    const isAmount = /^(amount|approval above|max.*)$/.test(name) && typeof value === 'number';
    return `${name}: ${isAmount && typeof currency === 'string' ? inMoney(BigInt(value), currency) : value}`;
  };
  return Object.entries(detail).flatMap(([key, value]) => {
    if (value === null || (isObject(value) && Object.keys(value).length === 0)) return [];
    // Shown with the amount.
    if (key === 'currency' && 'amount' in detail) return [];
    const name =
      key === 'transactionId' ? 'payment' : key.replaceAll(/[A-Z]/g, (letter) => ` ${letter.toLowerCase()}`);
    const areObjects = Array.isArray(value) && value.some(isObject);
    return areObjects ? value.map((each) => inWords(name, each)) : [inWords(name, value)];
  });
}
