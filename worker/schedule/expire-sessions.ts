import type { Dependencies } from '../../shared/dependencies.ts';
import { failuresKeptMs } from '../../shared/people/lockout.ts';
import { batchSize, inBatches } from './in-batches.ts';

/** Deletes sessions whose time is over, and failures to sign in that do not count any more. */
export async function expireSessions({ db, clock }: Pick<Dependencies, 'db' | 'clock'>): Promise<void> {
  const now = clock.now();
  await inBatches(
    () => db.$executeRaw`
      DELETE FROM session WHERE ctid IN (
        SELECT ctid FROM session WHERE expires_at <= ${now} LIMIT ${batchSize})`,
  );
  const failedBefore = new Date(now.getTime() - failuresKeptMs);
  await inBatches(
    () => db.$executeRaw`
      DELETE FROM lockout WHERE ctid IN (
        SELECT ctid FROM lockout WHERE last_failed_at < ${failedBefore} LIMIT ${batchSize})`,
  );
}
