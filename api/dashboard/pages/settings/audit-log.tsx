import type { FastifyReply } from 'fastify';
import { z } from 'zod';
import type { ApiDependencies } from '#api/http/dependencies.ts';
import type { Api } from '#api/http/route.ts';
import { nameActors } from '#shared/audit/actors.ts';
import {
  type AuditAction,
  type AuditFilter,
  type AuditPage,
  auditActions,
  readAuditLog,
} from '#shared/audit/audit-log.ts';
import { listMembers } from '#shared/people/members/members.ts';
import type { AuditLog } from '#shared/platform/database.ts';
import { isEnvironment } from '#shared/platform/environment.ts';
import { findRefundEnvironments } from '#shared/refunds/queries/find-refunds.ts';
import { ButtonLink, Submit } from '../../components/button.tsx';
import { SelectField, TextField } from '../../components/form.tsx';
import { List, Pages } from '../../components/list.tsx';
import { Empty } from '../../components/notice.tsx';
import { ExactTime } from '../../components/values.tsx';
import { contextOf, needs, useAddress, useMember } from '../../http/access.ts';
import { dayRangeFields, readDayRange } from '../../http/day-range.ts';
import { type FormReading, readForm } from '../../http/forms.ts';
import { dashboardPath, withQuery } from '../../http/paths.ts';
import { Frame } from '../../layout/frame.tsx';
import { inMoney } from '../../words/numbers.ts';

const path = '/settings/audit-log';
const pageSize = 50;

/** An empty text, or one that no entry can have, means no filter. */
const filterText = z
  .string()
  .regex(/^[^\p{Cc}]{1,200}$/u)
  .optional()
  .catch(undefined);
const entries = { actor: filterText, action: filterText };
const enteredSchema = z.object({ ...entries, from: filterText, to: filterText, before: filterText });
const filterSchema = z.object({ ...entries, ...dayRangeFields });

/** The query of the audit log as the form and the URL have it. `before` is the entry after which the page begins. */
type EnteredAuditQuery = Partial<z.output<typeof enteredSchema>>;

/** The query of a request, whether or not it is valid. */
export function enteredAuditQuery(query: unknown): EnteredAuditQuery {
  return enteredSchema.parse(query);
}

/** The filter to search with, or what is wrong with its dates. */
export function readAuditQuery(query: unknown): FormReading<AuditFilter> {
  const reading = readForm(filterSchema, query);
  if (reading.kind === 'invalid') return reading;
  const { from, to, ...filter } = reading.value;
  const range = readDayRange({ from, to });
  return range.kind === 'invalid' ? range : { kind: 'valid', value: { ...filter, ...range.value } };
}

/** `/settings/audit-log`: the audit log of the organization, in both environments. */
export function auditLogPages(scope: Api, deps: ApiDependencies): void {
  scope.get(path, needs('admin'), async (request, reply) => {
    const reading = readAuditQuery(request.query);
    const view = await readView(deps, reply, reading);
    return reply.code(reading.kind === 'valid' ? 200 : 400).send(<AuditLogPage {...view} />);
  });
}

/** A page of entries, with what is needed to show them. */
async function readView(
  { db, slowReads }: ApiDependencies,
  { request }: FastifyReply,
  reading: FormReading<AuditFilter>,
) {
  const organizationId = contextOf(request).organization.id;
  const { before, ...filter } = enteredAuditQuery(request.query);
  const { entries, next }: AuditPage =
    reading.kind === 'valid'
      ? await slowReads(organizationId, () =>
          readAuditLog(db, { organizationId, ...reading.value, before, limit: pageSize }),
        )
      : { entries: [], next: null };
  const targets = entries.map(({ target }) => target);
  return {
    ...{ entries, next, isNewest: before === undefined },
    /** As it was entered, with what is wrong with it. */
    form: { body: filter, problems: reading.kind === 'valid' ? {} : reading.problems },
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
  const { entries, next, form, isNewest } = view;
  const base = useAddress(path);
  return (
    <Frame
      title="Activity"
      section="activity"
      actions={
        <ButtonLink id="export" to={withQuery(`${base}/export`, form.body)}>
          Export as CSV
        </ButtonLink>
      }
    >
      <p class="muted">
        All changes by people in {useMember().organization.name}, in test and live. Entries can't be edited or
        deleted.
      </p>
      <FilterForm {...view} />
      {entries.length === 0 ? (
        <Empty title="No matching entries">
          <p>Change or clear the filters.</p>
          <ButtonLink to={base}>Clear filters</ButtonLink>
        </Empty>
      ) : (
        <AuditTable {...view} />
      )}
      <Pages
        newest={isNewest ? null : withQuery(base, form.body)}
        older={next && withQuery(base, { ...form.body, before: next })}
      />
    </Frame>
  );
}

/** The choices include the current actor and action, also when they are no longer known. */
function FilterForm({ form, members, names }: AuditView) {
  const { actor, action } = form.body;
  const actors = new Map(members.map(({ userId, email }) => [`user:${userId}`, email]));
  if (actor !== undefined && !actors.has(actor)) actors.set(actor, names.get(actor) ?? actor);
  const actions = new Map<string, string>(Object.entries(auditActions));
  if (action !== undefined) actions.set(action, describeAction(action));
  return (
    <form method="get" action={useAddress(path)} class="card stack">
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

/** The label of an action; an action of another version of the service is shown by its name. */
function describeAction(action: string): string {
  return Object.hasOwn(auditActions, action)
    ? auditActions[action as AuditAction]
    : action.replaceAll(/[._]/g, ' ');
}

/** A table of audit entries. An actor links to all its entries. */
function AuditTable({ entries, ...view }: AuditView) {
  const log = useAddress('/settings/audit-log');
  return (
    <List
      caption="Activity, newest first"
      isCompact
      items={entries}
      columns={[
        ['Time', ({ createdAt }) => <ExactTime at={createdAt} />],
        ['Actor', ({ actor }) => <a href={withQuery(log, { actor })}>{view.names.get(actor) ?? actor}</a>],
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
  return <a href={path}>{text}</a>;
}

function usePathTo(target: string, environment: string | null | undefined): string | null {
  const base = `${dashboardPath}/${useMember().organization.id}/${environment}`;
  if (environment === null || environment === undefined) return null;
  if (target.startsWith('ref_')) return `${base}/refunds/${target}`;
  if (target.startsWith('key_')) return `${base}/settings/api-keys#${target}`;
  if (target.startsWith('acc_')) return `${base}/settings/accounts`;
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
