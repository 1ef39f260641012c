import type { Dependencies } from '../../shared/dependencies.ts';
import { batchSize, inBatches } from './in-batches.ts';

/** How long what a processor told is kept. What it led to stands in the refund's timeline, for good. */
const eventKeptMs = 30 * 24 * 60 * 60 * 1000;

/**
 * Deletes the events of processors after their time. One that is repeated later than that is too old to be verified, or
 * one more reading of its refund.
 */
export async function expireEvents({ db, clock }: Pick<Dependencies, 'db' | 'clock'>): Promise<void> {
  const receivedBefore = new Date(clock.now().getTime() - eventKeptMs);
  await inBatches(
    () => db.$executeRaw`
      DELETE FROM processor_event WHERE ctid IN (
        SELECT ctid FROM processor_event WHERE received_at < ${receivedBefore} LIMIT ${batchSize})`,
  );
}
