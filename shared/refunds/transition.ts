import type { Clock } from '../clock.ts';
import type { DatabaseTransaction, Prisma, Refund } from '../db.ts';
import { newId } from '../ids.ts';
import { lockTransaction, release } from '../transactions/reservation.ts';
import type { RefundEventType } from './event-types.ts';
import { canMove, holdsReservation, isTerminal, type RefundStatus } from './states.ts';

/** An entry of the timeline. */
export interface TimelineEntry {
  type: RefundEventType;
  /** Who caused it: `key:<id>`, `user:<id>`, `worker`, or `cli:<user>` for administration. */
  actor: string;
  detail?: Prisma.InputJsonObject;
}

/** Columns that a transition may set besides the status; everything else of a refund never changes. */
export type RefundChanges = Pick<
  Prisma.RefundUncheckedUpdateManyInput,
  | 'externalRefundId'
  | 'keySeries'
  | 'lastOutcome'
  | 'unknownSince'
  | 'attemptAnswered'
  | 'attemptEndedAt'
  | 'retryingSince'
  | 'fruitlessCount'
  | 'claimedUntil'
  | 'nextActionAt'
  | 'cancelRequestedAt'
  | 'acceptedAt'
  | 'processorStatus'
  | 'reviewDueAt'
  | 'failureCode'
  | 'failureMessage'
  | 'flaggedAt'
  | 'flagReason'
  | 'extraRefundId'
>;

/** A move that is only made when the refund still is what the caller believes it to be. */
export interface Transition {
  refund: Pick<Refund, 'id' | 'organizationId' | 'environment' | 'processor' | 'transactionId' | 'amount'>;
  from: RefundStatus;
  to: RefundStatus;
  /** Further conditions, such as the fencing token of the caller's lease. */
  guard?: Prisma.RefundWhereInput;
  changes?: RefundChanges;
  entry: TimelineEntry;
}

/**
 * Moves a refund: one guarded UPDATE, its event and, when the refund fails or is cancelled, the reservation given back,
 * all in the caller's database transaction. This is the only place that writes a refund's status.
 * @returns the refund as it is now, or null when the guard did not hold and nothing was changed.
 * @throws TypeError for a move that is not in the state table, which is a bug of the caller.
 */
export async function transition(
  tx: DatabaseTransaction,
  clock: Clock,
  { refund, from, to, guard = {}, changes = {}, entry }: Transition,
): Promise<Refund | null> {
  if (!canMove(from, to)) throw new TypeError(`A refund cannot move from ${from} to ${to}`);
  const now = clock.now();
  const releases = holdsReservation(from) && !holdsReservation(to);
  // The payment is locked first, in the order in which a creation and a recorded reading lock, so that none of them
  // waits for another that waits for it.
  if (releases) await lockTransaction(tx, refund);
  const moved = await update(tx, [guard, { id: refund.id, status: from }], {
    // Whatever asked for a person is over when the refund is.
    ...(isTerminal(to) ? { flaggedAt: null, flagReason: null } : {}),
    ...changes,
    status: to,
    ...(to === 'completed' ? { completedAt: now } : {}),
    updatedAt: now,
    wokenAt: null,
    ...(to === 'processing' ? {} : { nextActionAt: null, claimedUntil: null }),
  });
  if (moved === null) return null;
  if (releases) await release(tx, refund, refund.amount);
  await appendEvent(tx, moved, from === to ? null : from, entry, now);
  return moved;
}

/** A note on a refund that stays what it is. */
export interface Annotation {
  refund: Pick<Refund, 'id' | 'status'>;
  /** Further conditions, such as the fencing token of the caller's lease. */
  guard?: Prisma.RefundWhereInput;
  changes: Pick<RefundChanges, 'flaggedAt' | 'flagReason' | 'extraRefundId' | 'claimedUntil'>;
  entry: TimelineEntry;
}

/**
 * Notes something about a refund without moving it, whatever its status: a guarded UPDATE with its event.
 * @returns the refund as it is now, or null when it has moved meanwhile or the guard did not hold.
 */
export async function annotate(
  tx: DatabaseTransaction,
  clock: Clock,
  { refund, guard = {}, changes, entry }: Annotation,
): Promise<Refund | null> {
  const noted = await update(tx, [guard, { id: refund.id, status: refund.status }], changes);
  if (noted === null) return null;
  await appendEvent(tx, noted, null, entry, clock.now());
  return noted;
}

/**
 * The guarded UPDATE. A flag about another refund under this one's name is raised and ended by name only: what was learnt
 * of this refund neither ends nor replaces it.
 */
async function update(
  tx: DatabaseTransaction,
  conditions: Prisma.RefundWhereInput[],
  changes: Prisma.RefundUncheckedUpdateManyInput,
): Promise<Refund | null> {
  const { flaggedAt, flagReason, ...others } = changes;
  const isAboutThis = flaggedAt !== undefined && changes.extraRefundId === undefined;
  const own = isAboutThis ? [{ extraRefundId: null }] : [];
  const [changed] = await tx.refund.updateManyAndReturn({
    where: { AND: [...conditions, ...own] },
    data: changes,
  });
  if (changed !== undefined || !isAboutThis) return changed ?? null;
  const [unflagged] = await tx.refund.updateManyAndReturn({
    where: { AND: [...conditions, { extraRefundId: { not: null } }] },
    data: others,
  });
  return unflagged ?? null;
}

/** Writes the next entry of a timeline. The caller holds the refund's row, which makes the numbers gapless. */
export async function appendEvent(
  tx: DatabaseTransaction,
  refund: Pick<Refund, 'id' | 'status'>,
  previousStatus: RefundStatus | null,
  entry: TimelineEntry,
  now: Date,
): Promise<void> {
  const detail = JSON.stringify(entry.detail ?? {});
  await tx.$executeRaw`
    INSERT INTO refund_event (id, refund_id, seq, type, actor, previous_status, status, detail, created_at)
    SELECT ${newId('evt')}, ${refund.id}, coalesce(max(seq), 0) + 1, ${entry.type}, ${entry.actor},
           ${previousStatus}::refund_status, ${refund.status}::refund_status, ${detail}::jsonb, ${now}
    FROM refund_event WHERE refund_id = ${refund.id}`;
}
