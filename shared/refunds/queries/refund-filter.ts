import { Prisma } from '../../platform/database.ts';
import { processorNames } from '../../processors/registry.ts';
import type { InitiatedBy, RefundReason } from '../../refund-request/reasons.ts';
import type { RefundOwner } from '../model/refund.ts';
import type { RefundStatus } from '../model/states.ts';

/** Conditions on refunds. Refunds match all given ones. */
export interface RefundFilter {
  /** Any of these; an empty list is every status. */
  statuses?: readonly RefundStatus[] | undefined;
  processor?: string | undefined;
  /** The id of the payment that the request named. */
  transactionId?: string | undefined;
  initiatedBy?: InitiatedBy | undefined;
  /** The id of the API key that requested it. */
  apiKeyId?: string | undefined;
  reason?: RefundReason | undefined;
  /** As stored with a refund that failed. */
  failureCode?: string | undefined;
  /** Lowercase ISO 4217. */
  currency?: string | undefined;
  /** Inclusive. */
  createdAfter?: Date | undefined;
  /** Exclusive. */
  createdBefore?: Date | undefined;
  /** Minor units of each refund's currency; both ends count. */
  amountFrom?: bigint | undefined;
  amountTo?: bigint | undefined;
  /** Metadata keys of the first level with their values as text: `5` is the text "5" and the number 5. */
  metadata?: Readonly<Record<string, string>> | undefined;
  /** Only refunds that await approval or are flagged. */
  needsAttention?: boolean | undefined;
  /** Only refunds that are looked up, because an attempt ended without an answer. */
  outcomeUnknown?: boolean | undefined;
  /** The id of the refund, any id of the payment, the id of the refund at the processor or of its batch; surrounding spaces are ignored. */
  q?: string | undefined;
}

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
export function conditionOf(owner: RefundOwner, filter: RefundFilter): Prisma.Sql {
  const { statuses = [], processor, transactionId, initiatedBy, reason, currency, needsAttention } = filter;
  const { apiKeyId, failureCode, createdAfter, createdBefore, amountFrom, amountTo, metadata } = filter;
  const q = filter.q?.trim() ?? '';
  const isById = (transactionId ?? apiKeyId) !== undefined || q !== '';
  return Prisma.join(
    [
      isById || needsAttention || filter.outcomeUnknown ? comparedOwnerSql(owner) : ownerSql(owner),
      statuses.length > 0 && statusSql(statuses),
      processor !== undefined && inOrderSql(Prisma.sql`processor = ${processor}`),
      transactionId !== undefined && requestedForSql(owner, transactionId),
      initiatedBy !== undefined && inOrderSql(Prisma.sql`initiated_by = ${initiatedBy}::initiated_by`),
      apiKeyId !== undefined && requestedBySql(apiKeyId),
      reason !== undefined && inOrderSql(Prisma.sql`reason = ${reason}::refund_reason`),
      failureCode !== undefined && inOrderSql(Prisma.sql`failure_code = ${failureCode}`),
      currency !== undefined && inOrderSql(Prisma.sql`currency = ${currency}`),
      createdAfter !== undefined && Prisma.sql`created_at >= ${createdAfter}`,
      createdBefore !== undefined && Prisma.sql`created_at < ${createdBefore}`,
      amountFrom !== undefined && inOrderSql(Prisma.sql`amount >= ${amountFrom}`),
      amountTo !== undefined && inOrderSql(Prisma.sql`amount <= ${amountTo}`),
      metadata !== undefined && metadataSql(owner, metadata),
      needsAttention === true && needsAttentionSql(owner),
      filter.outcomeUnknown === true && outcomeUnknownSql(owner),
      q !== '' && namedSql(owner, q),
    ].filter((condition) => condition !== false),
    ' AND ',
  );
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
function requestedBySql(apiKeyId: string): Prisma.Sql {
  const isOfKey = inOrderSql(Prisma.sql`api_key_id = ${apiKeyId}`);
  return Prisma.sql`requester = (SELECT requester_of(${`key:${apiKeyId}`})) AND ${isOfKey}`;
}

/** The refunds of a payment, whichever of its ids they name. Naming every processor completes the key of a name. */
function idsOfPaymentSql(owner: RefundOwner, transactionId: string): Prisma.Sql {
  return Prisma.sql`SELECT id FROM refund WHERE payment_id = ANY (ARRAY(
    SELECT payment_id FROM payment_name
    WHERE ${ownerSql(owner)} AND processor = ANY (${[...processorNames]}) AND name = ${transactionId}))`;
}

/**
 * Rare values are found in the index of metadata, whose statistics count them. For frequent ones the planner reads the list
 * in its order until the page is full.
 */
function metadataSql({ organizationId }: RefundOwner, asked: Readonly<Record<string, string>>): Prisma.Sql {
  return Prisma.sql`metadata_terms(organization_id, metadata)
    @> metadata_terms(${organizationId}, ${JSON.stringify(asked)}::jsonb)`;
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
