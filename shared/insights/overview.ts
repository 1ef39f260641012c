import type { Database } from '../platform/database.ts';
import type { InitiatedBy } from '../refunds/model/reasons.ts';
import type { RefundOwner } from '../refunds/model/refund.ts';
import { isTerminal, type RefundStatus, refundStatuses } from '../refunds/model/states.ts';
import {
  type CompletionTimes,
  type GroupRow,
  type OverviewDays,
  type OverviewWindow,
  readCompletionTimes,
  readFailureCodes,
  readGroups,
  windowOf,
} from './overview-queries.ts';

/** Numbers of refunds by status; every status is present. */
export type StatusCounts = Record<RefundStatus, number>;

/** Minor units of one currency by refund status; every status is present. */
export type StatusAmounts = Record<RefundStatus, bigint>;

/** How many refunds have something in common. */
export interface Count<Name> {
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
  /** Every day of the window, the oldest first. */
  perDay: { day: string; counts: StatusCounts }[];
  /** Every currency in use, the most used first. Amounts of different currencies are never added. */
  money: { currency: string; count: number; amounts: StatusAmounts }[];
  /** The currency of `moneyPerDay`; null when there is no refund. */
  currency: string | null;
  /** Every day of the window, the oldest first. */
  moneyPerDay: { day: string; amounts: StatusAmounts }[];
  /** Includes refunds that were reversed later; null when none has completed. */
  completion: CompletionTimes | null;
  /** The commonest codes, ten at most. */
  failureCodes: { code: string; count: number }[];
  byProcessor: Count<string>[];
  byInitiator: Count<InitiatedBy>[];
}

const failureCodesShown = 10;

/**
 * Reads the overview of an organization in one environment: three queries in one snapshot.
 * @param options `days` of the window, which ends at `now`; `currency` of the money per day, lowercase, null for the one
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
      return {
        window,
        ...countsOf(groups, window),
        ...moneyOf(groups, window, options.currency),
        completion: await readCompletionTimes(tx, owner, window),
        failureCodes: await readFailureCodes(tx, owner, window, failureCodesShown),
      };
    },
    // One snapshot: otherwise a refund that moves between two queries would be counted differently by each.
    { isolationLevel: 'RepeatableRead' },
  );
}

function countsOf(groups: readonly GroupRow[], window: OverviewWindow) {
  const counts = countByStatus(groups.filter(({ day }) => day !== null));
  return {
    total: refundStatuses.reduce((sum, status) => sum + counts[status], 0),
    counts,
    outcomes: outcomesOf(counts),
    perDay: perDay(window, groups, countByStatus).map(([day, counts]) => ({ day, counts })),
    byProcessor: countBy(groups, ({ processor }) => processor),
    byInitiator: countBy(groups, ({ initiatedBy }) => initiatedBy),
  };
}

function outcomesOf(counts: StatusCounts): Overview['outcomes'] {
  const ended = refundStatuses.filter(isTerminal);
  const total = ended.reduce((sum, status) => sum + counts[status], 0);
  return ended.map((status) => ({
    status,
    count: counts[status],
    share: total === 0 ? 0 : counts[status] / total,
  }));
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
  const moneyPerDay = perDay(window, inCurrency, amountsOf).map(([day, amounts]) => ({ day, amounts }));
  return { money, currency, moneyPerDay };
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

function perDay<Sum>(
  { days }: OverviewWindow,
  groups: readonly GroupRow[],
  sum: (rows: readonly GroupRow[]) => Sum,
): [string, Sum][] {
  const byDay = groupBy(groups, ({ day }) => day);
  return days.map((day) => [day, sum(byDay.get(day) ?? [])]);
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
