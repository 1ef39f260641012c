import { type Database, type DatabaseTransaction, Prisma } from '../platform/database.ts';
import type { InitiatedBy } from '../refund-request/reasons.ts';
import type { RefundOwner } from '../refunds/model/refund.ts';
import { isTerminal, type RefundStatus, refundStatuses } from '../refunds/model/states.ts';
import { ownerSql } from '../refunds/queries/refund-filter.ts';

/** The windows that an overview can have, in days. One day is shown by hours. */
export const overviewDays = [1, 7, 30, 90] as const;

export type OverviewDays = (typeof overviewDays)[number];

/** Up to now, from the beginning of a day in UTC, or of an hour for the last 24 hours; both inclusive. */
interface OverviewWindow {
  /** In days. */
  length: OverviewDays;
  from: Date;
  to: Date;
  /** The days, `2026-11-21` and so on, or the hours, `2026-11-21T14`; the oldest first. */
  steps: readonly string[];
}

const hourMs = 3_600_000;
const dayMs = 24 * hourMs;

/** The window that ends now: the last step is today, or this hour. */
function windowOf(now: Date, length: OverviewDays): OverviewWindow {
  const [stepMs, count] = length === 1 ? [hourMs, 24] : [dayMs, length];
  const last = Math.floor(now.getTime() / stepMs) * stepMs;
  const starts = Array.from({ length: count }, (_, index) => new Date(last - (count - 1 - index) * stepMs));
  return {
    length,
    from: new Date(last - (count - 1) * stepMs),
    to: now,
    steps: starts.map((start) => start.toISOString().slice(0, length === 1 ? 13 : 10)),
  };
}

/** As long before. */
function windowBefore({ length, from, to }: OverviewWindow): Pick<OverviewWindow, 'from' | 'to'> {
  const earlier = (date: Date) => new Date(date.getTime() - length * dayMs);
  return { from: earlier(from), to: earlier(to) };
}

/** Numbers of refunds by status; every status is present. */
type StatusCounts = Record<RefundStatus, number>;

/** Minor units of one currency by refund status; every status is present. */
type StatusAmounts = Record<RefundStatus, bigint>;

/** How many refunds have something in common. */
interface Count<Name> {
  name: Name;
  count: number;
}

/** The refunds that were created in a window. */
export interface Overview {
  window: OverviewWindow;
  total: number;
  counts: StatusCounts;
  /** The share of each final status among the refunds that have ended: 0 to 1, all 0 when none has ended. */
  outcomes: { status: RefundStatus; count: number; share: number }[];
  /** Every day or hour of the window, the oldest first. */
  perStep: { step: string; counts: StatusCounts }[];
  /** Every currency in use, the most used first. Amounts of different currencies are never added. */
  money: { currency: string; count: number; amounts: StatusAmounts }[];
  /** The currency of `moneyPerStep`; null when there is no refund. */
  currency: string | null;
  /** Every day or hour of the window, the oldest first. */
  moneyPerStep: { step: string; amounts: StatusAmounts }[];
  /** Includes refunds that were reversed later; null when none has completed. */
  completion: CompletionTimes | null;
  /** The commonest codes, ten at most. */
  failureCodes: { code: string; count: number }[];
  byProcessor: Count<string>[];
  byInitiator: Count<InitiatedBy>[];
  /** The window of the same length before. */
  before: Before;
}

/** What is compared with the window before. */
interface Before {
  total: number;
  failed: number;
  /** The share of refunds that completed among those that have ended; null when none has. */
  completedShare: number | null;
  /** Minor units of the overview's currency. */
  completedAmount: bigint;
  medianMs: number | null;
}

/** When the first refund was created; null without one. */
export async function findFirstRefund(db: Database, owner: RefundOwner): Promise<Date | null> {
  const [first] = await db.$queryRaw<{ createdAt: Date }[]>`
    SELECT created_at AS "createdAt" FROM refund WHERE ${ownerSql(owner)} ORDER BY created_at, id LIMIT 1`;
  return first?.createdAt ?? null;
}

const failureCodesShown = 10;

/**
 * Reads the overview of an organization in one environment: four queries in one snapshot.
 * @param options `days` of the window, which ends at `now`; `currency` of the money over time, lowercase, null for the one
 * with most refunds.
 */
export async function readOverview(
  db: Database,
  owner: RefundOwner,
  options: { now: Date; days: OverviewDays; currency: string | null },
): Promise<Overview> {
  const window = windowOf(options.now, options.days);
  return await db.$transaction(
    async (tx) => {
      const groups = await readGroups(tx, owner, window);
      const money = moneyOf(groups, window, options.currency);
      return {
        window,
        ...countsOf(groups, window),
        ...money,
        before: await readBefore(tx, owner, windowBefore(window), money.currency),
        completion: await readCompletionTimes(tx, owner, window),
        failureCodes: await readFailureCodes(tx, owner, window),
      };
    },
    // One snapshot: otherwise a refund that moves between two queries would be counted differently by each.
    { isolationLevel: 'RepeatableRead' },
  );
}

function countsOf(groups: readonly GroupRow[], window: OverviewWindow) {
  const counts = countByStatus(groups.filter(({ step }) => step !== null));
  const ended = refundStatuses.filter(isTerminal);
  const endedCount = ended.reduce((sum, status) => sum + counts[status], 0);
  return {
    total: refundStatuses.reduce((sum, status) => sum + counts[status], 0),
    counts,
    outcomes: ended.map((status) => ({
      status,
      count: counts[status],
      share: endedCount === 0 ? 0 : counts[status] / endedCount,
    })),
    perStep: perStep(window, groups, countByStatus).map(([step, counts]) => ({ step, counts })),
    byProcessor: countBy(groups, ({ processor }) => processor),
    byInitiator: countBy(groups, ({ initiatedBy }) => initiatedBy),
  };
}

function moneyOf(groups: readonly GroupRow[], window: OverviewWindow, chosen: string | null) {
  const money = [...groupBy(groups, ({ currency }) => currency)]
    .map(([currency, rows]) => ({
      currency,
      count: rows.reduce((sum, { count }) => sum + count, 0),
      amounts: amountsOf(rows),
    }))
    .sort((a, b) => b.count - a.count || (a.currency < b.currency ? -1 : 1));
  const currency = chosen ?? money[0]?.currency ?? null;
  const inCurrency = groups.filter((row) => row.currency !== null && row.currency === currency);
  const moneyPerStep = perStep(window, inCurrency, amountsOf).map(([step, amounts]) => ({ step, amounts }));
  return { money, currency, moneyPerStep };
}

/** Rows of other groupings have no name. */
function countBy<Name extends string>(
  groups: readonly GroupRow[],
  nameOf: (row: GroupRow) => Name | null,
): Count<Name>[] {
  return groups
    .flatMap((row) => {
      const name = nameOf(row);
      return name === null ? [] : [{ name, count: row.count }];
    })
    .sort((a, b) => (a.name < b.name ? -1 : 1));
}

function perStep<Sum>(
  { steps }: OverviewWindow,
  groups: readonly GroupRow[],
  sum: (rows: readonly GroupRow[]) => Sum,
): [string, Sum][] {
  const byStep = groupBy(groups, ({ step }) => step);
  return steps.map((step) => [step, sum(byStep.get(step) ?? [])]);
}

function countByStatus(rows: readonly GroupRow[]): StatusCounts {
  const counts: StatusCounts = { pending: 0, processing: 0, completed: 0, failed: 0, cancelled: 0 };
  for (const { status, count } of rows) if (status !== null) counts[status] += count;
  return counts;
}

function amountsOf(rows: readonly GroupRow[]): StatusAmounts {
  const amounts: StatusAmounts = { pending: 0n, processing: 0n, completed: 0n, failed: 0n, cancelled: 0n };
  for (const { status, amount } of rows) if (status !== null) amounts[status] += BigInt(amount);
  return amounts;
}

/** The rows by their key; those without one belong to another grouping. */
function groupBy(
  rows: readonly GroupRow[],
  keyOf: (row: GroupRow) => string | null,
): Map<string, GroupRow[]> {
  const groups = new Map<string, GroupRow[]>();
  for (const row of rows) {
    const key = keyOf(row);
    if (key === null) continue;
    const group = groups.get(key);
    if (group === undefined) groups.set(key, [row]);
    else group.push(row);
  }
  return groups;
}

// The first query reads the refunds created in the window once for all steps, currencies and processors.

/** Refunds that have something in common: a step, a currency and a status; a processor; or an initiator. The others are null. */
interface GroupRow {
  step: string | null;
  currency: string | null;
  processor: string | null;
  initiatedBy: InitiatedBy | null;
  status: RefundStatus | null;
  count: number;
  /** Minor units as text. Means something by currency only. */
  amount: string;
}

/**
 * Counts in one pass: by step, currency and status, by processor, and by initiator. Equal rows are added up first, because
 * every grouping set costs once per row.
 */
async function readGroups(
  tx: DatabaseTransaction,
  owner: RefundOwner,
  window: OverviewWindow,
): Promise<GroupRow[]> {
  const [unit, format] = window.length === 1 ? ['hour', 'YYYY-MM-DD"T"HH24'] : ['day', 'YYYY-MM-DD'];
  return await tx.$queryRaw<GroupRow[]>`
    SELECT to_char(step, ${format}) AS step, currency::text, processor, initiated_by::text AS "initiatedBy", status::text,
      sum(count)::int AS count, sum(amount)::text AS amount
    FROM (
      SELECT step, currency, processor, initiated_by, status, count(*) AS count, sum(amount) AS amount
      FROM (
        SELECT date_trunc(${unit}, created_at AT TIME ZONE 'UTC') AS step, currency, processor, initiated_by, status, amount
        FROM refund WHERE ${windowSql(owner, window)}) AS each
      GROUP BY step, currency, processor, initiated_by, status) AS alike
    GROUP BY GROUPING SETS ((step, currency, status), (processor), (initiated_by))`;
}

/** Completion times are those of this many of the newest completed refunds in a window, so that a long window stays quick to read. */
export const timedRefunds = 100_000;

/** How long it took from the creation to the completion. */
interface CompletionTimes {
  medianMs: number;
  p90Ms: number;
}

/** @returns null when none has completed. */
async function readCompletionTimes(
  tx: DatabaseTransaction,
  owner: RefundOwner,
  window: OverviewWindow,
): Promise<CompletionTimes | null> {
  const [row] = await tx.$queryRaw<CompletionTimes[]>`
    SELECT ms[1] AS "medianMs", ms[2] AS "p90Ms" FROM (
      SELECT percentile_disc(ARRAY[0.5, 0.9]) WITHIN GROUP (ORDER BY took) AS ms
      FROM (
        SELECT (extract(epoch FROM completed_at - created_at) * 1000)::float8 AS took
        FROM refund WHERE ${windowSql(owner, window)} AND completed_at IS NOT NULL
        ORDER BY created_at DESC LIMIT ${timedRefunds}) AS completed
      ) AS measured
    WHERE ms IS NOT NULL`;
  return row ?? null;
}

/** The failure codes, the most frequent first. */
async function readFailureCodes(
  tx: DatabaseTransaction,
  owner: RefundOwner,
  window: OverviewWindow,
): Promise<Overview['failureCodes']> {
  return await tx.$queryRaw<Overview['failureCodes']>`
    SELECT failure_code AS code, count(*)::int AS count
    FROM refund WHERE ${windowSql(owner, window)} AND status = 'failed'
    GROUP BY failure_code ORDER BY count DESC, code LIMIT ${failureCodesShown}`;
}

/** @param currency of the amount. */
async function readBefore(
  tx: DatabaseTransaction,
  owner: RefundOwner,
  window: Pick<OverviewWindow, 'from' | 'to'>,
  currency: string | null,
): Promise<Before> {
  const [row] = await tx.$queryRaw<(Omit<Before, 'completedAmount'> & { completedAmount: string })[]>`
    SELECT count(*)::int AS total, (count(*) FILTER (WHERE status = 'failed'))::int AS failed,
      count(*) FILTER (WHERE status = 'completed')::float8
        / nullif(count(*) FILTER (WHERE status IN ('completed', 'failed', 'cancelled')), 0) AS "completedShare",
      coalesce(sum(amount) FILTER (WHERE status = 'completed' AND currency = ${currency}), 0)::text AS "completedAmount",
      percentile_disc(0.5) WITHIN GROUP (
        ORDER BY (extract(epoch FROM completed_at - created_at) * 1000)::float8) AS "medianMs"
    FROM refund WHERE ${windowSql(owner, window)}`;
  if (row === undefined) throw new TypeError('An aggregate has one row.');
  return { ...row, completedAmount: BigInt(row.completedAmount) };
}

function windowSql(owner: RefundOwner, { from, to }: Pick<OverviewWindow, 'from' | 'to'>): Prisma.Sql {
  return Prisma.sql`${ownerSql(owner)} AND created_at >= ${from} AND created_at <= ${to}`;
}
