import type { Position } from '../platform/cursor.ts';
import { type Database, Prisma, type Refund } from '../platform/database.ts';
import type { PolicyFacts } from '../policies/policy.ts';
import type { RefundOwner } from '../refunds/model/refund.ts';
import { ownerSql } from '../refunds/queries/refund-filter.ts';
import type { EarlierRefunds } from './past-totals.ts';

/** A refund as it was requested, with what happened to it since. */
export interface PastRefund
  extends Pick<
    Refund,
    | 'id'
    | 'transactionId'
    | 'paymentId'
    | 'requester'
    | 'amount'
    | 'currency'
    | 'reason'
    | 'status'
    | 'initiatedBy'
    | 'createdAt'
  > {
  /** Null unless it was asked for. */
  metadata: Record<string, unknown> | null;
  /** Whether the key that requested it has limits for agents. */
  hasAgentKey: boolean;
  /** When it first failed or was cancelled; null when it did not. */
  endedAt: Date | null;
  /** As last read; null while it was never read. */
  payment: PolicyFacts['transaction'] | null;
}

/** Refunds that one statement reads, so that none takes long. */
const pageSize = 500;

/**
 * Where to begin so that at most `limit` refunds follow, the newest of a time.
 * @param time `since` is inclusive, `before` exclusive.
 * @returns the place before the first of them, and whether the limit left out earlier ones.
 */
export async function startOfNewest(
  db: Database,
  owner: RefundOwner,
  time: { since: Date; before: Date },
  limit: number,
): Promise<{ start: Position; isCutOff: boolean }> {
  const [before] = await db.$queryRaw<Position[]>`
    SELECT id, created_at AS "createdAt" FROM refund
    WHERE ${ownerSql(owner)} AND created_at >= ${time.since} AND created_at < ${time.before}
    ORDER BY created_at DESC, id DESC OFFSET ${limit} LIMIT 1`;
  return { start: before ?? { id: '', createdAt: time.since }, isCutOff: before !== undefined };
}

/** The refunds after a place and before a time, the oldest first, a page at a time. */
export async function* readPastRefunds(
  db: Database,
  owner: RefundOwner,
  { start, before, withMetadata }: { start: Position; before: Date; withMetadata: boolean },
): AsyncGenerator<PastRefund[], void, undefined> {
  for (let last: Position | undefined = start; last !== undefined; ) {
    const page: (Omit<PastRefund, 'payment'> & PaymentColumns)[] = await db.$queryRaw`
      SELECT r.id, r.transaction_id AS "transactionId", r.payment_id AS "paymentId", r.requester, r.amount, r.currency,
        r.reason::text, r.status::text, r.processor, r.initiated_by::text AS "initiatedBy", r.created_at AS "createdAt",
        ${withMetadata ? Prisma.sql`r.metadata` : Prisma.sql`NULL::jsonb AS metadata`},
        key.agent_limits IS NOT NULL AS "hasAgentKey", ${endedAtSql} AS "endedAt", paid.*
      FROM (SELECT * FROM refund
        WHERE ${ownerSql(owner)} AND created_at < ${before}
          AND (created_at, id) > (${last.createdAt}::timestamptz, ${last.id}::text)
        ORDER BY created_at, id LIMIT ${pageSize}) AS r
      CROSS JOIN LATERAL (SELECT amount AS "paidAmount", currency AS "paidCurrency", charged_at AS "chargedAt",
        refunded_outside AS "refundedOutside" FROM payment WHERE id = r.payment_id) AS paid
      LEFT JOIN LATERAL (SELECT agent_limits FROM api_key WHERE id = r.api_key_id) AS key ON TRUE
      ORDER BY r.created_at, r.id`;
    yield page.map(({ processor, paidAmount, paidCurrency, chargedAt, refundedOutside, ...refund }) => ({
      ...refund,
      payment:
        paidAmount === null || paidCurrency === null || chargedAt === null
          ? null
          : { amount: paidAmount, currency: paidCurrency, chargedAt, processor, refundedOutside },
    }));
    last = page.length < pageSize ? undefined : page.at(-1);
  }
}

interface PaymentColumns {
  processor: string;
  paidAmount: bigint | null;
  paidCurrency: string | null;
  chargedAt: Date | null;
  refundedOutside: bigint;
}

/**
 * When the refund `r` first failed or was cancelled. Most have not, and their timelines are not read. By the status, which has no
 * index, and in the order of the timeline, so that the planner can only read the events of the refund.
 */
const endedAtSql = Prisma.sql`CASE WHEN r.status IN ('failed', 'cancelled') THEN (
  SELECT e.created_at FROM refund_event AS e
  WHERE e.refund_id = r.id AND e.status IN ('failed', 'cancelled')
  ORDER BY e.seq LIMIT 1) END`;

/** What the refunds of some payments up to a place came to there, apart from those that had ended. */
export async function readEarlierRefunds(
  db: Database,
  paymentIds: readonly bigint[],
  { id, createdAt }: Position,
): Promise<EarlierRefunds[]> {
  return await db.$queryRaw<EarlierRefunds[]>`
    SELECT asked.id AS "paymentId", count(*)::int AS count, sum(made.amount)::bigint AS amount, made.ended_at AS "endedAt"
    FROM unnest(${paymentIds}::bigint[]) AS asked(id)
    CROSS JOIN LATERAL (
      SELECT r.amount, ${endedAtSql} AS ended_at FROM refund AS r
      WHERE r.payment_id = asked.id AND (r.created_at, r.id) <= (${createdAt}::timestamptz, ${id}::text)
      -- Payment by payment: joined, all refunds would be read for each.
      OFFSET 0) AS made
    WHERE made.ended_at IS NULL OR made.ended_at > ${createdAt}
    GROUP BY 1, made.ended_at`;
}
