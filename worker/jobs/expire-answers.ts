import type { Dependencies } from '../../shared/dependencies.ts';
import { answerKeptMs } from '../../shared/idempotency.ts';
import { batchSize, inBatches } from '../in-batches.ts';

/** A request that left its key behind without an answer or a refund has been dead for long by then. */
const abandonedMs = 24 * 60 * 60 * 1000;

/**
 * Forgets the stored answers of idempotent requests after their time, and keys of requests that died before they did
 * anything. A key that made a refund stays bound to it, so that it never makes another one.
 */
export async function expireAnswers({ db, clock }: Dependencies): Promise<void> {
  const answeredBefore = new Date(clock.now().getTime() - answerKeptMs);
  const lockedBefore = new Date(clock.now().getTime() - abandonedMs);
  await inBatches(
    () => db.$executeRaw`
      DELETE FROM idempotency_key WHERE ctid IN (
        SELECT ctid FROM idempotency_key WHERE refund_id IS NULL
          AND (answered_at < ${answeredBefore} OR (answered_at IS NULL AND locked_until < ${lockedBefore}))
        LIMIT ${batchSize})`,
  );
  await inBatches(
    () => db.$executeRaw`
      UPDATE idempotency_key SET status_code = NULL, body = NULL, answered_at = NULL WHERE ctid IN (
        SELECT ctid FROM idempotency_key WHERE refund_id IS NOT NULL AND answered_at < ${answeredBefore}
        LIMIT ${batchSize})`,
  );
}
