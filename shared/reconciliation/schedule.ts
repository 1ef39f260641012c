import type {
  DatabaseTransaction,
  Prisma,
  ProcessorAccount,
  ReconciliationRun,
} from '../platform/database.ts';
import type { PlatformDependencies } from '../platform/dependencies.ts';
import type { RefundWindow } from '../processors/contract/processor.ts';

/** The actor of what is done on schedule. */
export const scheduleActor = 'worker';

/** The longest pause before a run that failed is repeated. */
const longestRetryPauseMs = 15 * 60 * 1000;

/** The accounts whose time has come, by their ids. */
export async function findDueAccounts({
  db,
  clock,
  settings,
}: Pick<PlatformDependencies, 'db' | 'clock' | 'settings'>): Promise<Pick<ProcessorAccount, 'id'>[]> {
  const now = clock.now();
  const accounts = await db.processorAccount.findMany({
    select: { id: true, reconciliations: lastOnSchedule(now, settings) },
  });
  return accounts
    .filter(({ reconciliations }) => isDue(reconciliations[0] ?? null, now, settings))
    .map(({ id }) => ({ id }));
}

/** Whether the time of one account has come. */
export async function isAccountDue(
  tx: DatabaseTransaction,
  { id: accountId }: Pick<ProcessorAccount, 'id'>,
  now: Date,
  settings: PlatformDependencies['settings'],
): Promise<boolean> {
  const { where, orderBy } = lastOnSchedule(now, settings);
  const last = await tx.reconciliationRun.findFirst({ where: { ...where, accountId }, orderBy });
  return isDue(last, now, settings);
}

/** The last run on schedule. One that began longer ago than the interval says nothing about what is due any more. */
function lastOnSchedule(now: Date, { RECONCILIATION_INTERVAL_MS }: PlatformDependencies['settings']) {
  const recently = { gt: new Date(now.getTime() - RECONCILIATION_INTERVAL_MS) };
  return {
    where: { actor: scheduleActor, startedAt: recently },
    orderBy: { startedAt: 'desc' },
    take: 1,
  } satisfies Prisma.ProcessorAccount$reconciliationsArgs;
}

/**
 * Whether an account is to be reconciled, by its last run on schedule: after the interval, sooner when the run failed, and
 * at once when its process died.
 */
export function isDue(
  last: Pick<ReconciliationRun, 'startedAt' | 'finishedAt' | 'failure' | 'claimedUntil'> | null,
  now: Date,
  {
    RECONCILIATION_INTERVAL_MS: intervalMs,
  }: Pick<PlatformDependencies['settings'], 'RECONCILIATION_INTERVAL_MS'>,
): boolean {
  if (intervalMs === 0) return false;
  if (last === null) return true;
  const { startedAt, finishedAt, failure, claimedUntil } = last;
  if (finishedAt === null) return claimedUntil === null || claimedUntil <= now;
  if (failure === null) return now.getTime() - startedAt.getTime() >= intervalMs;
  return now.getTime() - finishedAt.getTime() >= Math.min(intervalMs, longestRetryPauseMs);
}

/**
 * The window of the next run: up to now, from as long before the end of the last good run on schedule as refunds may still
 * change. Runs on other windows do not count, because they may have left something out.
 */
export async function nextWindow(
  { db, clock, settings }: Pick<PlatformDependencies, 'db' | 'clock' | 'settings'>,
  { id: accountId }: Pick<ProcessorAccount, 'id'>,
): Promise<RefundWindow> {
  const to = clock.now();
  const last = await db.reconciliationRun.findFirst({
    where: { accountId, actor: scheduleActor, finishedAt: { not: null }, failure: null },
    orderBy: { windowEnd: 'desc' },
  });
  const comparedTo = Math.min(last?.windowEnd.getTime() ?? to.getTime(), to.getTime());
  return { from: new Date(comparedTo - settings.RECONCILIATION_LOOKBACK_MS), to };
}
