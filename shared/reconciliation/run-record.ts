import type { DatabaseTransaction, ProcessorAccount, ReconciliationRun } from '../platform/database.ts';
import type { PlatformDependencies } from '../platform/dependencies.ts';
import { newId } from '../platform/ids.ts';
import type { RefundWindow } from '../processors/contract/processor.ts';
import { isAccountDue, scheduleActor } from './schedule.ts';

/** The longest pause that a run makes at a time. */
export const longestPauseMs = 60_000;

/** Time for writing down what a call said. */
const recordingMarginMs = 30_000;

/** The run was given up, because its lease was over, and another one may be under way. */
export class RunLostError extends Error {
  override readonly name = 'RunLostError';

  constructor() {
    super('The run took too long between two steps, and was given up.');
  }
}

/**
 * Begins to reconcile an account: one run at a time, across all processes. A run that was left behind by a process which
 * died is closed as failed.
 * @returns null while another run of the account is under way, and for the schedule when the account is no longer due:
 * somebody else was faster, and is through already.
 */
export async function beginRun(
  { db, clock, settings }: Pick<PlatformDependencies, 'db' | 'clock' | 'settings'>,
  account: Pick<ProcessorAccount, 'id'>,
  { from, to }: RefundWindow,
  actor: string,
): Promise<ReconciliationRun | null> {
  const id = newId('rec');
  const now = clock.now();
  return await db.$transaction(async (tx) => {
    // One after the other, so that whoever comes second sees the run of the first. It has to be asked before a run that
    // was left behind is closed: closed as failed, it would be repeated after a pause only.
    await tx.$executeRaw`SELECT id FROM processor_account WHERE id = ${account.id} FOR NO KEY UPDATE`;
    if (actor === scheduleActor && !(await isAccountDue(tx, account, now, settings))) return null;
    await tx.$executeRaw`
      UPDATE reconciliation_run SET finished_at = ${now}, claimed_until = NULL,
        failure = 'Its process ended before it was through.'
      WHERE account_id = ${account.id} AND finished_at IS NULL
        AND (claimed_until IS NULL OR claimed_until <= clock_timestamp())`;
    await tx.$executeRaw`
      INSERT INTO reconciliation_run (id, account_id, window_start, window_end, actor, started_at, claimed_until)
      VALUES (${id}, ${account.id}, ${from}, ${to}, ${actor}, ${now},
        clock_timestamp() + ${leaseMs(settings)} * interval '1 millisecond')
      ON CONFLICT DO NOTHING`;
    return await tx.reconciliationRun.findUnique({ where: { id } });
  });
}

/**
 * Takes the lease anew; to be called before each step, and in the transaction of everything that a run writes.
 * @throws RunLostError when somebody has closed the run meanwhile.
 */
export async function keepRun(
  tx: DatabaseTransaction,
  settings: PlatformDependencies['settings'],
  { id }: Pick<ReconciliationRun, 'id'>,
): Promise<void> {
  const kept = await tx.$executeRaw`
    UPDATE reconciliation_run SET claimed_until = clock_timestamp() + ${leaseMs(settings)} * interval '1 millisecond'
    WHERE id = ${id} AND finished_at IS NULL`;
  if (kept === 0) throw new RunLostError();
}

/**
 * Closes a run.
 * @param failure why it could not be brought to its end; null when it was.
 * @throws RunLostError when somebody has closed it meanwhile.
 */
export async function finishRun(
  { db, clock }: Pick<PlatformDependencies, 'db' | 'clock'>,
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

/** Longer than any step: the lease is taken anew before each pause and each call, so that only one of them has to fit. */
function leaseMs({ PROCESSOR_TIMEOUT_MS }: PlatformDependencies['settings']): number {
  return longestPauseMs + PROCESSOR_TIMEOUT_MS + recordingMarginMs;
}
