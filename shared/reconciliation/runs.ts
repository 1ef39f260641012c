import type { ServiceSettings } from '../platform/config.ts';
import type {
  DatabaseTransaction,
  Prisma,
  ProcessorAccount,
  ReconciliationRun,
  Stores,
} from '../platform/database.ts';
import { newId } from '../platform/ids.ts';
import type { ListingWindow } from '../processors/contract/processor.ts';

// When an account is due, which window a run compares, and the lease that allows one run per account at a time.

interface Stored extends Stores {
  settings: ServiceSettings;
}
type Account = Pick<ProcessorAccount, 'id'>;

/** The actor of scheduled runs. */
export const scheduleActor = 'worker';

/** The longest pause within a run. */
export const longestPauseMs = 60_000;

/** Time to record the answer of a call. */
const recordingMarginMs = 30_000;

/** The longest pause before a failed run is repeated. */
const longestRetryPauseMs = 15 * 60 * 1000;

/** The lease ended, so another run may be under way. */
export class RunLostError extends Error {
  override readonly name = 'RunLostError';

  constructor() {
    super('The run took too long between two steps and lost its lease.');
  }
}

/**
 * Begins a run: one per account at a time, across all processes. A run whose process died is closed as failed. A recovery also closes
 * what was only requested, and the runs of before the restore, which the backup brought: no process holds them, and one that does loses its
 * run.
 * @returns null while another run of the account is under way or requested, and for the schedule when the account is no longer
 * due because another process was faster.
 */
export async function beginRun(
  deps: Stored,
  account: Account,
  run: Omit<NewRun, 'leaseMs'>,
): Promise<ReconciliationRun | null> {
  return await insertRun(deps, account, { ...run, leaseMs: leaseMs(deps.settings) });
}

/**
 * Asks a worker for a run. Until one takes it, the run has no lease.
 * @returns null while another run of the account is under way or requested.
 */
export async function requestRun(
  deps: Stored,
  account: Account,
  window: ListingWindow,
  actor: string,
): Promise<ReconciliationRun | null> {
  return await insertRun(deps, account, { window, actor, putsBack: false, leaseMs: null });
}

interface NewRun {
  window: ListingWindow;
  actor: string;
  /** True for a recovery. */
  putsBack: boolean;
  /** Null until a worker takes the run. */
  leaseMs: number | null;
}

async function insertRun(
  { db, clock, settings }: Stored,
  account: Account,
  { window: { from, to }, actor, putsBack, leaseMs: lease }: NewRun,
): Promise<ReconciliationRun | null> {
  const id = newId('rec');
  const now = clock.now();
  return await db.$transaction(async (tx) => {
    // The second process waits and then sees the run of the first. The check comes before a dead run is closed: as a
    // failed one it would only be repeated after a pause.
    await tx.$executeRaw`SELECT id FROM processor_account WHERE id = ${account.id} FOR NO KEY UPDATE`;
    if (
      actor === scheduleActor &&
      (await findDueAccounts({ db: tx, clock, settings }, { id: account.id })).length === 0
    )
      return null;
    await tx.$executeRaw`
      UPDATE reconciliation_run SET finished_at = ${now}, claimed_until = NULL, failure = 'The process was killed.'
      WHERE account_id = ${account.id} AND finished_at IS NULL AND (claimed_until <= clock_timestamp()
        OR ${putsBack} AND (claimed_until IS NULL OR started_at < (SELECT required_since FROM recovery WHERE id = 1)))`;
    await tx.$executeRaw`
      INSERT INTO reconciliation_run (id, account_id, window_start, window_end, actor, puts_back, started_at, claimed_until)
      VALUES (${id}, ${account.id}, ${from}, ${to}, ${actor}, ${putsBack}, ${now},
        clock_timestamp() + ${lease}::float8 * interval '1 millisecond')
      ON CONFLICT DO NOTHING`;
    return await tx.reconciliationRun.findUnique({ where: { id } });
  });
}

/** Takes the oldest run that a member has requested and that no worker has taken, or one whose worker was killed; null for none. */
export async function takeRequestedRun({
  db,
  settings,
}: Pick<Stored, 'db' | 'settings'>): Promise<ReconciliationRun | null> {
  const [taken] = await db.$queryRaw<{ id: string }[]>`
    UPDATE reconciliation_run SET claimed_until = clock_timestamp() + ${leaseMs(settings)} * interval '1 millisecond'
    WHERE id = (SELECT id FROM reconciliation_run WHERE finished_at IS NULL
        AND (claimed_until IS NULL OR claimed_until <= clock_timestamp() AND actor LIKE 'user:%')
      ORDER BY started_at LIMIT 1 FOR UPDATE SKIP LOCKED)
    RETURNING id`;
  return taken === undefined ? null : await db.reconciliationRun.findUnique({ where: taken });
}

/** True for a run that no worker has taken yet. */
export function isRequested({
  finishedAt,
  claimedUntil,
}: Pick<ReconciliationRun, 'finishedAt' | 'claimedUntil'>) {
  return finishedAt === null && claimedUntil === null;
}

/**
 * Renews the lease; called before each step, and in the transaction of everything that a run writes.
 * @throws RunLostError when another process has closed the run.
 */
export async function keepRun(
  tx: DatabaseTransaction,
  settings: ServiceSettings,
  { id }: Pick<ReconciliationRun, 'id'>,
): Promise<void> {
  const kept = await tx.$executeRaw`
    UPDATE reconciliation_run SET claimed_until = clock_timestamp() + ${leaseMs(settings)} * interval '1 millisecond'
    WHERE id = ${id} AND finished_at IS NULL`;
  if (kept === 0) throw new RunLostError();
}

/**
 * Closes a run.
 * @param failure why it did not finish; null when it did.
 * @throws RunLostError when another process has closed it.
 */
export async function finishRun(
  { db, clock }: Pick<Stored, 'db' | 'clock'>,
  { id }: Pick<ReconciliationRun, 'id'>,
  comparedCount: number,
  failure: string | null,
): Promise<ReconciliationRun> {
  const [finished] = await db.reconciliationRun.updateManyAndReturn({
    where: { id, finishedAt: null },
    data: { finishedAt: clock.now(), claimedUntil: null, comparedCount, failure },
  });
  if (finished === undefined) throw new RunLostError();
  return finished;
}

/** Longer than any step: the lease is renewed before each pause and each call, so only one of them has to fit. */
function leaseMs({ PROCESSOR_TIMEOUT_MS }: ServiceSettings): number {
  return longestPauseMs + PROCESSOR_TIMEOUT_MS + recordingMarginMs;
}

/**
 * The ids of the accounts that are due. A connected account that was not used for as long as a run looks back never is.
 * @param where the accounts to look at; all by default.
 */
export async function findDueAccounts(
  { db, clock, settings }: Omit<Stored, 'db'> & { db: DatabaseTransaction },
  where: Prisma.ProcessorAccountWhereInput = {},
): Promise<Account[]> {
  const now = clock.now();
  const used = { gt: new Date(now.getTime() - settings.RECONCILIATION_LOOKBACK_MS) };
  // The last scheduled run. One that began longer ago than the interval does not matter any more.
  const recently = { gt: new Date(now.getTime() - settings.RECONCILIATION_INTERVAL_MS) };
  const last = {
    where: { actor: scheduleActor, startedAt: recently },
    orderBy: { startedAt: 'desc' },
    take: 1,
  } as const;
  const accounts = await Promise.all(
    // Each has an index of its own.
    [{ parentId: null }, { usedAt: used }].map(async (kind) =>
      db.processorAccount.findMany({
        where: { ...where, ...kind },
        select: { id: true, reconciliations: last },
        orderBy: { id: 'asc' },
      }),
    ),
  );
  return accounts
    .flat()
    .filter(({ reconciliations }) => isDue(reconciliations[0] ?? null, now, settings))
    .map(({ id }) => ({ id }));
}

/** True when an account is due by its last scheduled run: after the interval, sooner when it failed, at once when it died. */
export function isDue(
  last: Pick<ReconciliationRun, 'startedAt' | 'finishedAt' | 'failure' | 'claimedUntil'> | null,
  now: Date,
  { RECONCILIATION_INTERVAL_MS: intervalMs }: Pick<ServiceSettings, 'RECONCILIATION_INTERVAL_MS'>,
): boolean {
  if (intervalMs === 0) return false;
  if (last === null) return true;
  const { startedAt, finishedAt, failure, claimedUntil } = last;
  if (finishedAt === null) return claimedUntil === null || claimedUntil <= now;
  if (failure === null) return now.getTime() - startedAt.getTime() >= intervalMs;
  return now.getTime() - finishedAt.getTime() >= Math.min(intervalMs, longestRetryPauseMs);
}

/**
 * The window of the next run: from `RECONCILIATION_LOOKBACK_MS` before the end of the last good scheduled run, up to now.
 * Runs over other windows do not count, because they may have left something out.
 */
export async function nextWindow(
  { db, clock, settings }: Stored,
  { id: accountId }: Account,
): Promise<ListingWindow> {
  const to = clock.now();
  const last = await db.reconciliationRun.findFirst({
    where: { accountId, actor: scheduleActor, finishedAt: { not: null }, failure: null },
    orderBy: { windowEnd: 'desc' },
  });
  const comparedTo = Math.min(last?.windowEnd.getTime() ?? to.getTime(), to.getTime());
  return { from: new Date(comparedTo - settings.RECONCILIATION_LOOKBACK_MS), to };
}
