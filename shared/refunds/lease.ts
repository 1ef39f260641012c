import { type DatabaseTransaction, databaseNow, Prisma, type Refund } from '../db.ts';
import type { Dependencies } from '../dependencies.ts';
import { surelyUnsentSql } from './surely-unsent.ts';
import { appendEvent } from './transition.ts';

/** Time that a worker keeps for writing down what the processor said, after the call's own deadline. */
export const recordingMarginMs = 10_000;

/** The row as claimed; within the claim's transaction, or another one's token could pass for ours. */
async function readClaimed(tx: DatabaseTransaction, { id }: Refund): Promise<Refund> {
  return await tx.refund.findUniqueOrThrow({ where: { id } });
}

/** How long a claimed refund belongs to its worker: longer than any call to a processor can last. */
function leaseMs(settings: { PROCESSOR_TIMEOUT_MS: number }): number {
  return settings.PROCESSOR_TIMEOUT_MS + recordingMarginMs;
}

/**
 * Claims a refund for one call to its processor. Of all workers that loaded the same state one succeeds: the claim
 * is guarded by the fencing token that was loaded, and refused while another lease lives. Leases are written and
 * compared in the database's time, so clocks that differ between machines do not matter.
 *
 * A review that was asked for before is answered by what the holder does next. For a refund that is not known to be at
 * the processor it casts doubt on that, which stays until a lookup has said what became of it.
 *
 * A claim for `send` is the write-ahead record of the attempt: it counts it and marks its fate as unknown, so that a
 * worker which dies in the middle of the call leaves the truth behind.
 * @returns the refund under the new lease, or null when somebody else has it or it has changed.
 */
export async function claimRefund(
  deps: Pick<Dependencies, 'db' | 'clock' | 'settings'>,
  loaded: Refund,
  purpose: 'send' | 'other',
): Promise<Refund | null> {
  const now = deps.clock.now();
  const lease = leaseMs(deps.settings);
  return await deps.db.$transaction(async (tx) => {
    const claimed = await tx.$executeRaw`
      UPDATE refund SET
        claimed_until = clock_timestamp() + ${lease} * interval '1 millisecond',
        next_action_at = ${new Date(now.getTime() + lease)},
        woken_at = NULL,
        review_due_at = NULL,
        fencing_token = fencing_token + 1,
        ${purpose === 'send' ? attemptStarted : doubtOfReview}
      WHERE id = ${loaded.id} AND status = 'processing' AND fencing_token = ${loaded.fencingToken}
        AND (claimed_until IS NULL OR claimed_until <= clock_timestamp())
        ${purpose === 'send' ? Prisma.sql`AND cancel_requested_at IS NULL AND ${surelyUnsentSql}` : Prisma.empty}`;
    if (claimed === 0) return null;
    const refund = await readClaimed(tx, loaded);
    if (purpose === 'send') {
      const detail = { attempt: refund.attemptCount };
      const entry = { type: 'attempt.started', actor: 'worker', detail } as const;
      await appendEvent(tx, refund, null, entry, now);
    }
    return refund;
  });
}

const attemptStarted = Prisma.sql`attempt_count = attempt_count + 1, last_sent_at = clock_timestamp(),
    unknown_since = clock_timestamp(), attempt_answered = false, attempt_ended_at = NULL, last_outcome = 'unknown'`;

const isDoubted = Prisma.sql`(review_due_at IS NOT NULL AND external_refund_id IS NULL)`;

/**
 * News of a refund that is not known to be at the processor: something of it has been seen there. Its fate is unknown
 * from here on, and a lookup that finds nothing proves that only after the settle delay from now.
 */
const doubtOfReview = Prisma.sql`
    unknown_since = CASE WHEN ${isDoubted} THEN coalesce(unknown_since, clock_timestamp()) ELSE unknown_since END,
    attempt_ended_at = CASE WHEN ${isDoubted} AND (unknown_since IS NULL OR attempt_ended_at IS NOT NULL)
      THEN clock_timestamp() ELSE attempt_ended_at END`;

/**
 * Claims a refund that has ended, to read it again from its processor. The review stays due at the end of the lease, so
 * that it outlives a worker which dies.
 * @returns the refund under the new lease, or null when somebody else has it or it has changed.
 */
export async function claimForReview(
  { db, clock, settings }: Pick<Dependencies, 'db' | 'clock' | 'settings'>,
  loaded: Refund,
): Promise<Refund | null> {
  const lease = leaseMs(settings);
  return await db.$transaction(async (tx) => {
    const claimed = await tx.$executeRaw`
      UPDATE refund SET
        claimed_until = clock_timestamp() + ${lease} * interval '1 millisecond',
        review_due_at = ${new Date(clock.now().getTime() + lease)},
        woken_at = NULL,
        fencing_token = fencing_token + 1
      WHERE id = ${loaded.id} AND status = ${loaded.status}::refund_status AND fencing_token = ${loaded.fencingToken}
        AND (claimed_until IS NULL OR claimed_until <= clock_timestamp())`;
    return claimed === 0 ? null : await readClaimed(tx, loaded);
  });
}

/**
 * Ends the lease of a review. A review that was asked for since it was claimed is about later news, and stays due.
 * @param nextReviewAt when to look again; null when the review is done.
 */
export async function releaseReview(
  db: DatabaseTransaction,
  claimed: Refund,
  nextReviewAt: Date | null,
): Promise<void> {
  await db.$executeRaw`
    UPDATE refund SET claimed_until = NULL, woken_at = NULL,
      review_due_at = CASE WHEN review_due_at = ${claimed.reviewDueAt} THEN ${nextReviewAt} ELSE review_due_at END
    WHERE id = ${claimed.id} AND fencing_token = ${claimed.fencingToken}`;
}

/**
 * Claims a flagged refund, whatever its status, for a person's decision: what a worker that is late learns is refused
 * from then on, and none begins before the decision is made or the lease is over. When it is due does not change.
 * @returns the refund under the new lease, or null when somebody else has it or it has changed.
 */
export async function claimFlagged(
  { db, settings }: Pick<Dependencies, 'db' | 'settings'>,
  loaded: Refund,
): Promise<Refund | null> {
  return await db.$transaction(async (tx) => {
    const claimed = await tx.$executeRaw`
      UPDATE refund SET
        claimed_until = clock_timestamp() + ${leaseMs(settings)} * interval '1 millisecond',
        fencing_token = fencing_token + 1
      WHERE id = ${loaded.id} AND status = ${loaded.status}::refund_status AND fencing_token = ${loaded.fencingToken}
        AND flagged_at IS NOT NULL
        AND (claimed_until IS NULL OR claimed_until <= clock_timestamp())`;
    return claimed === 0 ? null : await readClaimed(tx, loaded);
  });
}

/** Ends the lease of a decision that was not made. */
export async function releaseFlagged({ db }: Pick<Dependencies, 'db'>, claimed: Refund): Promise<void> {
  const { id, fencingToken } = claimed;
  await db.refund.updateMany({ where: { id, fencingToken }, data: { claimedUntil: null, wokenAt: null } });
}

/** Until when somebody holds the refund; null when nobody does. */
export async function leasedUntil(
  { db }: Pick<Dependencies, 'db'>,
  { claimedUntil }: Pick<Refund, 'claimedUntil'>,
): Promise<Date | null> {
  if (claimedUntil === null) return null;
  return claimedUntil > (await databaseNow(db)) ? claimedUntil : null;
}

/**
 * Takes the lease anew for a further call.
 * @returns false when it was lost, and nothing was changed.
 */
export async function renewLease(
  { db, clock, settings }: Pick<Dependencies, 'db' | 'clock' | 'settings'>,
  claimed: Refund,
): Promise<boolean> {
  const lease = leaseMs(settings);
  const renewed = await db.$executeRaw`
    UPDATE refund SET claimed_until = clock_timestamp() + ${lease} * interval '1 millisecond',
      next_action_at = ${new Date(clock.now().getTime() + lease)}
    WHERE id = ${claimed.id} AND status = 'processing' AND fencing_token = ${claimed.fencingToken}`;
  return renewed === 1;
}

/**
 * Ends a lease that brought no news, and says when to look again; nothing is added to the timeline.
 * @returns false when the lease was lost, and nothing was changed.
 */
export async function releaseLease(
  deps: Pick<Dependencies, 'db'>,
  claimed: Refund,
  next: { nextActionAt: Date; fruitlessCount: number; retryingSince?: Date | null },
): Promise<boolean> {
  const { count } = await deps.db.refund.updateMany({
    where: { id: claimed.id, status: 'processing', fencingToken: claimed.fencingToken },
    data: { ...next, claimedUntil: null, wokenAt: null },
  });
  return count === 1;
}

/**
 * Puts off a refund that nobody holds, because its account cannot or must not be called yet. A review that was asked for
 * is put off and not forgotten: the doubt that it casts on an attempt has to last until somebody has looked.
 */
export async function postpone(deps: Pick<Dependencies, 'db'>, loaded: Refund, until: Date): Promise<void> {
  const { id, status, fencingToken } = loaded;
  const due = {
    ...(status === 'processing' ? { nextActionAt: until } : {}),
    ...(loaded.reviewDueAt === null ? {} : { reviewDueAt: until }),
  };
  await deps.db.refund.updateMany({ where: { id, status, fencingToken }, data: { ...due, wokenAt: null } });
}
