import type { Refund, RefundWork } from '../../platform/database.ts';

/** Why a refund is not moving. Clients must expect further ones. */
export const waitingReasons = [
  'approval',
  'hold',
  'processor_unreachable',
  'rate_limited',
  'credentials',
  'insufficient_balance',
  'payment_unsettled',
  'customer_action',
  'unknown_outcome',
  'approval_at_processor',
  'settlement',
  'recovery',
] as const;

export type WaitingReason = (typeof waitingReasons)[number];

/** What a refund waits for. */
export interface Waiting {
  reason: WaitingReason;
  since: Date;
  /** When the service goes on by itself; null where that depends on somebody else. */
  until: Date | null;
}

type WaitingRefund = Pick<Refund, 'status' | 'createdAt' | 'acceptedAt' | 'heldUntil' | 'externalRefundId'>;
type WaitingWork = Pick<
  RefundWork,
  'waitingFor' | 'waitingSince' | 'unknownSince' | 'approvalRequestedAt' | 'leasedUntil' | 'dueAt'
> | null;

/**
 * What a refund waits for; null when it has ended, and while it moves on.
 * @param recoveryRequiredSince since when nothing is sent until a recovery; null when none is required.
 */
export function waitingOf(
  refund: WaitingRefund,
  work: WaitingWork,
  recoveryRequiredSince: Date | null,
  now: Date,
): Waiting | null {
  const { status, createdAt, acceptedAt, heldUntil, externalRefundId } = refund;
  if (status === 'pending') return { reason: 'approval', since: createdAt, until: null };
  if (status !== 'processing' || work === null) return null;
  if (recoveryRequiredSince !== null) {
    return { reason: 'recovery', since: recoveryRequiredSince, until: null };
  }
  const { approvalRequestedAt } = work;
  if (approvalRequestedAt !== null) {
    return { reason: 'approval_at_processor', since: approvalRequestedAt, until: null };
  }
  const isAccepted = externalRefundId !== null;
  if (!isAccepted && heldUntil !== null && heldUntil > now && work.unknownSince === null) {
    return { reason: 'hold', since: createdAt, until: heldUntil };
  }
  const until = !isAccepted && work.dueAt !== null && work.dueAt > now ? work.dueAt : null;
  const { waitingFor, waitingSince, unknownSince, leasedUntil } = work;
  if (waitingFor !== null) {
    return { reason: waitingFor as WaitingReason, since: waitingSince ?? createdAt, until };
  }
  if (isAccepted) return { reason: 'settlement', since: acceptedAt ?? createdAt, until: null };
  // The worker of an attempt has died: a lookup follows.
  const isLeased = leasedUntil !== null && leasedUntil > now;
  return unknownSince === null || isLeased ? null : { reason: 'unknown_outcome', since: unknownSince, until };
}
