import { type DatabaseTransaction, Prisma } from '../platform/database.ts';
import type { RefundOwner } from '../refunds/model/refund.ts';
import type { RefundStatus } from '../refunds/model/states.ts';
import { ownerSql } from '../refunds/queries/refund-filter.ts';
import type { OverviewWindow } from './overview-window.ts';

// Every query reads the refunds that were created in the window, from an index that has all it needs, and none of them is
// repeated per day, currency or processor.

/** Refunds of one status that have something in common: a day and a currency, a processor, or an initiator; else null. */
export interface GroupRow {
  day: string | null;
  currency: string | null;
  processor: string | null;
  initiatedBy: string | null;
  status: RefundStatus;
  count: number;
  /** Minor units as text. Means something by currency only. */
  amount: string;
}

/**
 * All that can be counted in one pass: by day and currency, by processor, and by initiator, each with the status. What is
 * alike in everything is added up first, because every way of grouping costs once per row.
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
        FROM refund WHERE ${windowSql(owner, window)} ${inOrderSql}) AS each
      GROUP BY day, currency, processor, initiated_by, status) AS alike
    GROUP BY GROUPING SETS ((day, currency, status), (processor, status), (initiated_by, status))`;
}

/** How long it took from the creation to the completion, for those that have completed. */
export interface CompletionTimes {
  count: number;
  medianMs: number;
  p90Ms: number;
  p99Ms: number;
  /** How many took less than each of `completionBoundsMs`, those below the bound before it left out, and how many longer. */
  spread: number[];
}

/** The bounds between which completion times are counted: 10 seconds, 1 minute, 10 minutes, 1 hour, 6 hours, 1 and 3 days. */
export const completionBoundsMs = [
  10_000, 60_000, 600_000, 3_600_000, 21_600_000, 86_400_000, 259_200_000,
] as const;

/** @returns null when none has completed. */
export async function readCompletionTimes(
  tx: DatabaseTransaction,
  owner: RefundOwner,
  window: OverviewWindow,
): Promise<CompletionTimes | null> {
  const below = completionBoundsMs.map((ms) => Prisma.sql`count(*) FILTER (WHERE took < ${ms})::int`);
  const [row] = await tx.$queryRaw<(Omit<CompletionTimes, 'spread'> & { below: number[] })[]>`
    SELECT count, below, ms[1] AS "medianMs", ms[2] AS "p90Ms", ms[3] AS "p99Ms" FROM (
      SELECT count(*)::int AS count, ARRAY[${Prisma.join(below)}] AS below,
        percentile_disc(ARRAY[0.5, 0.9, 0.99]) WITHIN GROUP (ORDER BY took) AS ms
      FROM (
        SELECT (extract(epoch FROM completed_at - created_at) * 1000)::float8 AS took
        FROM refund WHERE ${windowSql(owner, window)} AND completed_at IS NOT NULL ${inOrderSql}) AS completed
      ) AS measured
    WHERE count > 0`;
  if (row === undefined) return null;
  const { below: upTo, ...times } = row;
  return { ...times, spread: [...upTo, times.count].map((count, index) => count - (upTo[index - 1] ?? 0)) };
}

/** The codes with which refunds failed, the commonest first. */
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

/**
 * Nobody needs the order. It keeps the planner to the index that has it, where an organization with most of the refunds
 * would tempt it to read the table, which is many times as large.
 */
const inOrderSql = Prisma.sql`ORDER BY created_at DESC, id DESC`;

function windowSql(owner: RefundOwner, { from, to }: OverviewWindow): Prisma.Sql {
  return Prisma.sql`${ownerSql(owner)} AND created_at >= ${from} AND created_at <= ${to}`;
}
