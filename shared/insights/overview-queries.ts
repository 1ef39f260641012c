import { type DatabaseTransaction, Prisma } from '../platform/database.ts';
import type { InitiatedBy } from '../refunds/model/reasons.ts';
import type { RefundOwner } from '../refunds/model/refund.ts';
import type { RefundStatus } from '../refunds/model/states.ts';
import { ownerSql } from '../refunds/queries/refund-filter.ts';

/** The windows that an overview can have, in days. */
export const overviewDays = [7, 30, 90] as const;

export type OverviewDays = (typeof overviewDays)[number];

/** From the beginning of a day in UTC to now, both inclusive; the last day is today. */
export interface OverviewWindow {
  from: Date;
  to: Date;
  /** `2026-11-21` and so on, the oldest first. */
  days: readonly string[];
}

const dayMs = 86_400_000;

/** The window that ends now and has today as its last day. */
export function windowOf(now: Date, days: OverviewDays): OverviewWindow {
  const today = Math.floor(now.getTime() / dayMs) * dayMs;
  const starts = Array.from({ length: days }, (_, index) => new Date(today - (days - 1 - index) * dayMs));
  return {
    from: new Date(today - (days - 1) * dayMs),
    to: now,
    days: starts.map((start) => start.toISOString().slice(0, 10)),
  };
}

// Every query reads the refunds created in the window once for all days, currencies and processors.

/** Refunds that have something in common: a day, a currency and a status; a processor; or an initiator. The others are null. */
export interface GroupRow {
  day: string | null;
  currency: string | null;
  processor: string | null;
  initiatedBy: InitiatedBy | null;
  status: RefundStatus | null;
  count: number;
  /** Minor units as text. Means something by currency only. */
  amount: string;
}

/**
 * Counts in one pass: by day, currency and status, by processor, and by initiator. Equal rows are added up first, because
 * every grouping set costs once per row.
 */
export async function readGroups(
  tx: DatabaseTransaction,
  owner: RefundOwner,
  window: OverviewWindow,
): Promise<GroupRow[]> {
  return await tx.$queryRaw<GroupRow[]>`
    SELECT day::text, currency::text, processor, initiated_by::text AS "initiatedBy", status::text,
      sum(count)::int AS count, sum(amount)::text AS amount
    FROM (
      SELECT day, currency, processor, initiated_by, status, count(*) AS count, sum(amount) AS amount
      FROM (
        SELECT (created_at AT TIME ZONE 'UTC')::date AS day, currency, processor, initiated_by, status, amount
        FROM refund WHERE ${windowSql(owner, window)}) AS each
      GROUP BY day, currency, processor, initiated_by, status) AS alike
    GROUP BY GROUPING SETS ((day, currency, status), (processor), (initiated_by))`;
}

/** How long it took from the creation to the completion. */
export interface CompletionTimes {
  medianMs: number;
  p90Ms: number;
  p99Ms: number;
}

/** @returns null when none has completed. */
export async function readCompletionTimes(
  tx: DatabaseTransaction,
  owner: RefundOwner,
  window: OverviewWindow,
): Promise<CompletionTimes | null> {
  const [row] = await tx.$queryRaw<CompletionTimes[]>`
    SELECT ms[1] AS "medianMs", ms[2] AS "p90Ms", ms[3] AS "p99Ms" FROM (
      SELECT percentile_disc(ARRAY[0.5, 0.9, 0.99]) WITHIN GROUP (ORDER BY took) AS ms
      FROM (
        SELECT (extract(epoch FROM completed_at - created_at) * 1000)::float8 AS took
        FROM refund WHERE ${windowSql(owner, window)} AND completed_at IS NOT NULL) AS completed
      ) AS measured
    WHERE ms IS NOT NULL`;
  return row ?? null;
}

/** The failure codes, the most frequent first. */
export async function readFailureCodes(
  tx: DatabaseTransaction,
  owner: RefundOwner,
  window: OverviewWindow,
  limit: number,
): Promise<{ code: string; count: number }[]> {
  return await tx.$queryRaw<{ code: string; count: number }[]>`
    SELECT failure_code AS code, count(*)::int AS count
    FROM refund WHERE ${windowSql(owner, window)} AND status = 'failed'
    GROUP BY failure_code ORDER BY count DESC, code LIMIT ${limit}`;
}

function windowSql(owner: RefundOwner, { from, to }: OverviewWindow): Prisma.Sql {
  return Prisma.sql`${ownerSql(owner)} AND created_at >= ${from} AND created_at <= ${to}`;
}
