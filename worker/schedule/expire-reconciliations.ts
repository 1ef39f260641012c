import type { Dependencies } from '../../shared/dependencies.ts';
import { scheduleActor } from '../../shared/reconciliation/runs.ts';
import { batchSize, inBatches } from './in-batches.ts';

/** How long runs and what they found are kept: whoever audits a year finds all of it a month later. */
const runKeptMs = 400 * 24 * 60 * 60 * 1000;

/**
 * Deletes runs of reconciliation and their findings after their time. The last good run on schedule of each account stays,
 * because the next window begins where it ended; what was flagged and decided stands in the refunds' timelines, for good.
 */
export async function expireReconciliations({
  db,
  clock,
}: Pick<Dependencies, 'db' | 'clock'>): Promise<void> {
  const finishedBefore = new Date(clock.now().getTime() - runKeptMs);
  const lastGood = await db.reconciliationRun.findMany({
    where: { actor: scheduleActor, finishedAt: { not: null }, failure: null },
    distinct: ['accountId'],
    orderBy: [{ accountId: 'asc' }, { windowEnd: 'desc' }],
    select: { id: true },
  });
  const keptIds = lastGood.map(({ id }) => id);
  await inBatches(
    () => db.$executeRaw`
      DELETE FROM reconciliation_finding WHERE ctid IN (
        SELECT finding.ctid FROM reconciliation_finding finding JOIN reconciliation_run run ON run.id = finding.run_id
        WHERE run.finished_at < ${finishedBefore} AND run.id <> ALL (${keptIds}) LIMIT ${batchSize})`,
  );
  await inBatches(
    () => db.$executeRaw`
      DELETE FROM reconciliation_run WHERE ctid IN (
        SELECT ctid FROM reconciliation_run
        WHERE finished_at < ${finishedBefore} AND id <> ALL (${keptIds}) LIMIT ${batchSize})`,
  );
}
