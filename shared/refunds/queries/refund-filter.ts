import { Prisma, type ProcessorAccount } from '../../platform/database.ts';
import { processorNames } from '../../processors/registry.ts';
import {
  type InitiatedBy,
  initiators,
  type RefundReason,
  refundReasons,
} from '../../refund-request/reasons.ts';
import type { RefundOwner } from '../model/refund.ts';
import { type RefundStatus, refundStatuses } from '../model/states.ts';

/** How a filter is entered. */
type FilterKind = 'choice' | 'choices' | 'text' | 'currency' | 'time' | 'amount' | 'metadata' | 'flag';

/** A filter of refunds: pages, operations, exports, tools and the client have it from here. */
interface FilterDefinition<Value> {
  kind: FilterKind;
  /** The condition; null for a value that restricts nothing. */
  sql: (value: Value, owner: RefundOwner) => Prisma.Sql | null;
  /** Of a choice, and of a text that only the API takes freely. */
  values?: readonly string[];
  /** Of a text. */
  maxLength?: number;
  /** Says in the API what it does; without it, the API does not have the filter. */
  description?: string;
  /** In the API. */
  example?: unknown;
  /** The label on pages; without it, they do not have the filter. */
  title?: string;
  hint?: string;
  /** Its parameter in the addresses of pages, if that is not its name; of a time the first or last day. */
  pageName?: string;
  /** True if it reads an index of its own, so that the planner must not choose the list. */
  finds?: boolean;
}

const filter = <Value>(definition: FilterDefinition<Value>) => definition;

/** All filters, in the order in which they are offered. */
export const refundFilters = {
  processor: filter({
    ...{ kind: 'text', maxLength: 50, values: processorNames, title: 'Processor' },
    ...{ description: 'Only refunds at this processor.', example: 'stripe' },
    sql: (name: string) => inOrderSql(Prisma.sql`processor = ${name}`),
  }),
  account: filter({
    ...{ kind: 'text', maxLength: 255, title: 'Account' },
    ...{ description: 'Only refunds of the account with this id or name.', example: 'shop-eu' },
    sql: ofNamedAccountSql,
  }),
  initiatedBy: filter({
    ...{ kind: 'choice', values: initiators, title: 'Source' },
    description: 'Only refunds that were requested there.',
    sql: (initiator: InitiatedBy) => inOrderSql(Prisma.sql`initiated_by = ${initiator}::initiated_by`),
  }),
  reason: filter({
    ...{ kind: 'choice', values: refundReasons, title: 'Reason' },
    description: 'Only refunds for this reason.',
    sql: (reason: RefundReason) => inOrderSql(Prisma.sql`reason = ${reason}::refund_reason`),
  }),
  failureCode: filter({
    ...{ kind: 'text', maxLength: 100, title: 'Failure' },
    sql: (code: string) => inOrderSql(Prisma.sql`failure_code = ${code}`),
  }),
  currency: filter({
    ...{ kind: 'currency', title: 'Currency' },
    ...{ description: 'Only refunds in this currency.', example: 'usd' },
    sql: (code: string) => inOrderSql(Prisma.sql`currency = ${code}`),
  }),
  /** The id of the refund, any id of the payment, the id of the refund at the processor or of its batch; surrounding spaces are ignored. */
  q: filter({
    ...{ kind: 'text', maxLength: 255, title: 'ID of a refund, payment or batch', hint: 'The whole ID.' },
    sql: (text: string, owner) => (text.trim() === '' ? null : namedSql(owner, text.trim())),
    finds: true,
  }),
  /** A user or an API key, as an actor of the timeline. */
  requestedBy: filter({
    ...{ kind: 'text', maxLength: 255, title: 'Requested by' },
    sql: requestedBySql,
    finds: true,
  }),
  /** A value of the metadata, or a word of it. */
  word: filter({
    ...{ kind: 'text', maxLength: 200, title: 'Customer, order or other metadata' },
    hint: 'A value or a word of it.',
    sql: (text: string, { organizationId }) => metadataWordSql(organizationId, text),
  }),
  transactionId: filter({
    ...{ kind: 'text', maxLength: 255, example: 'ch_3QfX2eLkdIwHu7ix' },
    description:
      'Only refunds that were requested with this id. GET /v1/payments/{transactionId} finds those of a payment by any of its ids.',
    sql: (id: string, owner) => requestedForSql(owner, id),
    finds: true,
  }),
  createdAfter: filter({
    ...{ kind: 'time', title: 'Created from (UTC)', pageName: 'from' },
    description: 'Only refunds created at this time or later.',
    sql: (time: Date) => Prisma.sql`created_at >= ${time}`,
  }),
  createdBefore: filter({
    ...{ kind: 'time', title: 'Created to (UTC)', pageName: 'to' },
    description: 'Only refunds created before this time.',
    sql: (time: Date) => Prisma.sql`created_at < ${time}`,
  }),
  amountMin: filter({
    ...{ kind: 'amount', title: 'Minimum amount', pageName: 'amountFrom' },
    description: 'Only refunds of at least this amount.',
    sql: (minor: bigint) => inOrderSql(Prisma.sql`amount >= ${minor}`),
  }),
  amountMax: filter({
    ...{ kind: 'amount', title: 'Maximum amount', pageName: 'amountTo' },
    description: 'Only refunds of at most this amount.',
    sql: (minor: bigint) => inOrderSql(Prisma.sql`amount <= ${minor}`),
  }),
  /** Keys of the first level with their values as text: `5` is the text "5" and the number 5. */
  metadata: filter({
    ...{ kind: 'metadata', example: { ticket: 'T-1001' } },
    description:
      'Only refunds with this value in the first level of their metadata: `metadata[order]=1001`. Compared as text with ' +
      'strings, numbers and booleans.',
    sql: metadataSql,
  }),
  /** Any of these. */
  status: filter({
    ...{ kind: 'choices', values: refundStatuses, title: 'Status' },
    description: 'Only refunds with this status.',
    sql: (statuses: readonly RefundStatus[]) => (statuses.length === 0 ? null : statusSql(statuses)),
  }),
  needsAttention: filter({
    ...{ kind: 'flag', title: 'Needs attention' },
    sql: (isAsked: boolean, owner) => (isAsked ? needsAttentionSql(owner) : null),
    finds: true,
  }),
  outcomeUnknown: filter({
    ...{ kind: 'flag', title: 'Outcome unknown' },
    sql: (isAsked: boolean, owner) => (isAsked ? outcomeUnknownSql(owner) : null),
    finds: true,
  }),
};

type Definitions = typeof refundFilters;
type FilterName = keyof Definitions;
type ValueOf<Definition> = Definition extends FilterDefinition<infer Value> ? Value : never;

/** Conditions on refunds. Refunds match all given ones. Amounts are minor units of each refund's currency. */
export type RefundFilter = { [Name in FilterName]?: ValueOf<Definitions[Name]> | undefined };

/** Uses two partial indexes. */
function needsAttentionSql(owner: RefundOwner): Prisma.Sql {
  const ofOwner = ownerSql(owner);
  return Prisma.sql`id = ANY (ARRAY(
    SELECT id FROM refund WHERE ${ofOwner} AND status = 'pending'
    UNION SELECT refund_id FROM refund_work WHERE ${ofOwner} AND flagged_at IS NOT NULL))`;
}

/** A retry after an unknown outcome is a lookup. Uses the partial index of retries. */
function outcomeUnknownSql(owner: RefundOwner): Prisma.Sql {
  return Prisma.sql`id = ANY (ARRAY(SELECT refund_id FROM refund_work
    WHERE ${ownerSql(owner)} AND retrying_since IS NOT NULL AND unknown_since IS NOT NULL))`;
}

/** The SQL condition of a filter, which includes the owner. */
export function conditionOf(owner: RefundOwner, given: RefundFilter): Prisma.Sql {
  const conditions = Object.entries(refundFilters).flatMap(([name, definition]) => {
    const value = given[name as FilterName];
    const { sql, finds = false } = definition as FilterDefinition<unknown>;
    const condition = value === undefined ? null : sql(value, owner);
    return condition === null ? [] : [{ condition, finds }];
  });
  const ofOwner = conditions.some(({ finds }) => finds) ? comparedOwnerSql(owner) : ownerSql(owner);
  return Prisma.join([ofOwner, ...conditions.map(({ condition }) => condition)], ' AND ');
}

/** The refunds of one organization in one environment. */
export function ownerSql({ organizationId, environment }: RefundOwner): Prisma.Sql {
  return Prisma.sql`organization_id = ${organizationId} AND environment = ${environment}::environment`;
}

/** The same for refunds that are found in another way: compared as no index can, so that the planner cannot choose the list. */
export function comparedOwnerSql({ organizationId, environment }: RefundOwner): Prisma.Sql {
  return Prisma.sql`organization_id IS NOT DISTINCT FROM ${organizationId}
    AND environment IS NOT DISTINCT FROM ${environment}::environment`;
}

/** The accounts of an owner that may have something to show; see prisma/functions/accounts/accounts_in_use.sql. */
export function accountsInUseSql({ organizationId, environment }: RefundOwner): Prisma.Sql {
  return Prisma.sql`accounts_in_use(${organizationId}, ${environment}::environment)`;
}

/**
 * The refunds of the account that has an id or a name. The name of a connected account is the only one with a slash: its refunds are found by
 * their own index, which ends with their order. Naming every processor completes the key of a name.
 */
function ofNamedAccountSql(named: string, owner: RefundOwner): Prisma.Sql {
  const byName = Prisma.sql`SELECT id FROM processor_account
    WHERE ${ownerSql(owner)} AND processor = ANY (${[...processorNames]}) AND name = ${named}`;
  if (named.includes('/')) return Prisma.sql`account_id = (${byName} LIMIT 1) AND is_connected`;
  return inOrderSql(Prisma.sql`account_id = ANY (ARRAY(
    SELECT id FROM processor_account WHERE id = ${named} UNION ${byName}))`);
}

/** The refunds of an account, in the order of an index. */
export function ofAccountSql({ id, parentId, ...owner }: AccountOfRefunds & RefundOwner): Prisma.Sql {
  const byOwner = parentId === null ? ownerSql(owner) : comparedOwnerSql(owner);
  return Prisma.sql`${byOwner} AND ${accountSql({ id, parentId })}`;
}

/**
 * A connected account may have few of the refunds of its organization, so these have an index of their own; those of another one are read
 * from the list of their owner.
 */
function accountSql({ id, parentId }: AccountOfRefunds): Prisma.Sql {
  if (parentId !== null) return Prisma.sql`account_id = ${id} AND is_connected`;
  return inOrderSql(Prisma.sql`account_id = ${id}`);
}

type AccountOfRefunds = Pick<ProcessorAccount, 'id' | 'parentId'>;

/**
 * A condition without an index, written so that the planner takes it to be true for half of all refunds and reads the list in its order
 * until the page is full. By statistics that are older than a new currency, nothing has it: it would read and sort the whole list.
 */
function inOrderSql(condition: Prisma.Sql): Prisma.Sql {
  return Prisma.sql`CASE WHEN ${condition} THEN true ELSE false END`;
}

/** The statuses are literals, because a parameter would not match the partial index of all but those that have completed. */
function statusSql(statuses: readonly RefundStatus[]): Prisma.Sql {
  const each = statuses.map((status) => literals[status]);
  // One status alone keeps the order of the index by status.
  return each.length === 1 ? Prisma.sql`status = ${each[0]}` : Prisma.sql`status IN (${Prisma.join(each)})`;
}

const literals: Readonly<Record<RefundStatus, Prisma.Sql>> = {
  pending: Prisma.sql`'pending'`,
  processing: Prisma.sql`'processing'`,
  completed: Prisma.sql`'completed'`,
  failed: Prisma.sql`'failed'`,
  cancelled: Prisma.sql`'cancelled'`,
};

/** Found first, so that the planner cannot scan the list for it. */
function requestedForSql(owner: RefundOwner, transactionId: string): Prisma.Sql {
  const ofPayment = idsOfPaymentSql(owner, transactionId);
  return Prisma.sql`id = ANY (ARRAY(${ofPayment})) AND transaction_id = ${transactionId}`;
}

/** Read in the order of the requester's index, which is that of the list. */
function requestedBySql(actor: string): Prisma.Sql {
  const keyId = actor.startsWith('key:') ? actor.slice('key:'.length) : null;
  const isOfKey = inOrderSql(Prisma.sql`api_key_id IS NOT DISTINCT FROM ${keyId}`);
  return Prisma.sql`requester = (SELECT requester_of(${actor})) AND ${isOfKey}`;
}

/** The refunds of a payment, whichever of its ids they name. The index of the beginnings of names has those of all accounts. */
function idsOfPaymentSql(owner: RefundOwner, transactionId: string): Prisma.Sql {
  return Prisma.sql`SELECT id FROM refund WHERE payment_id = ANY (ARRAY(
    SELECT payment_id FROM payment_name WHERE ${ownerSql(owner)} AND name = ${transactionId}))`;
}

/**
 * Rare values are found in the index of metadata, whose statistics count them. For frequent ones the planner reads the list
 * in its order until the page is full.
 */
function metadataSql(asked: Readonly<Record<string, string>>, { organizationId }: RefundOwner): Prisma.Sql {
  return Prisma.sql`metadata_terms(organization_id, metadata)
    @> metadata_terms(${organizationId}, ${JSON.stringify(asked)}::jsonb)`;
}

/** The refunds with all words of a text, as `metadata_words` has them. */
export function metadataWordSql(organizationId: string, text: string): Prisma.Sql {
  return Prisma.sql`metadata_words(organization_id, metadata)
    @> metadata_words(${organizationId}, jsonb_build_object('', ${text}::text))`;
}

/** The characters of all ids, ours and the processors'. */
const idPattern = /^[\x21-\x7e]{1,255}$/;

/** Looks up each kind of id in its own index; with an OR the planner could scan the list. The owner is checked in the result. */
function namedSql(owner: RefundOwner, text: string): Prisma.Sql {
  if (!idPattern.test(text)) return Prisma.sql`FALSE`;
  return Prisma.sql`id = ANY (ARRAY(
    SELECT ${text}
    UNION ${idsOfPaymentSql(owner, text)}
    UNION SELECT id FROM refund WHERE external_refund_id = ${text}
    UNION SELECT refund_id FROM refund_batch_row WHERE batch_id = ${text}))`;
}
