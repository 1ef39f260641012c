import type { Dependencies } from '../../shared/dependencies.ts';
import { batchSize, inBatches } from './in-batches.ts';

/** How long an invitation is kept after its time. Who invited whom stands in the audit log, for good. */
const invitationKeptMs = 90 * 24 * 60 * 60 * 1000;

/** Deletes invitations that have been over for long, whatever became of them. */
export async function expireInvitations({ db, clock }: Pick<Dependencies, 'db' | 'clock'>): Promise<void> {
  const overBefore = new Date(clock.now().getTime() - invitationKeptMs);
  await inBatches(
    () => db.$executeRaw`
      DELETE FROM invitation WHERE ctid IN (
        SELECT ctid FROM invitation WHERE expires_at < ${overBefore} LIMIT ${batchSize})`,
  );
}
