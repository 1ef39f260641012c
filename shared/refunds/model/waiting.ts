import type { Refund, RefundWork } from '../../platform/database.ts';
import type { ProcessorRefund } from '../../processors/contract/processor.ts';

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
  /** When a hold ends, the service tries again, or what the customer was asked for expires; null where that is not known. */
  until: Date | null;
}

type WaitAtProcessor = NonNullable<ProcessorRefund['waitsFor']>;

const waitsAtProcessor: ReadonlySet<string | null> = new Set<WaitAtProcessor>([
  'customer_action',
  'insufficient_balance',
  'payment_unsettled',
]);

/** True for what keeps an accepted refund at its processor: the money is not on its way. */
export function isWaitAtProcessor(waitingFor: string | null): waitingFor is WaitAtProcessor {
  return waitsAtProcessor.has(waitingFor);
}

/** True for a refund that the processor cannot pay before the customer gives details. */
export function waitsForCustomer(
  { status, processorStatus }: Pick<Refund, 'status' | 'processorStatus'>,
  waitingFor: string | null,
): boolean {
  // The customer may still have to act while the state cannot be read, which the refund waits for then.
  const isAsked = processorStatus === 'requires_action' || waitingFor === 'customer_action';
  return status === 'processing' && isAsked;
}

type WaitingRefund = Pick<Refund, 'status' | 'createdAt' | 'acceptedAt' | 'heldUntil' | 'externalRefundId'>;

/** What `waitingOf` needs of the work. */
export const waitingFields = [
  'waitingFor',
  'waitingSince',
  'waitingUntil',
  'unknownSince',
  'approvalRequestedAt',
  'leasedUntil',
  'dueAt',
] as const;

export type WaitingWork = Pick<RefundWork, (typeof waitingFields)[number]>;

/**
 * What a refund waits for; null when it has ended, and while it moves on.
 * @param recoveryRequiredSince since when nothing is sent until a recovery; null when none is required.
 */
export function waitingOf(
  refund: WaitingRefund,
  work: WaitingWork | null,
  recoveryRequiredSince: Date | null,
  now: Date,
): Waiting | null {
  const { status, createdAt, heldUntil, externalRefundId } = refund;
  if (status === 'pending') return { reason: 'approval', since: createdAt, until: null };
  if (status !== 'processing' || work === null) return null;
  if (recoveryRequiredSince !== null) {
    return { reason: 'recovery', since: recoveryRequiredSince, until: null };
  }
  const { approvalRequestedAt, waitingSince, unknownSince } = work;
  if (approvalRequestedAt !== null) {
    return { reason: 'approval_at_processor', since: approvalRequestedAt, until: null };
  }
  const isAccepted = externalRefundId !== null;
  if (!isAccepted && heldUntil !== null && heldUntil > now && unknownSince === null) {
    return { reason: 'hold', since: waitingSince ?? createdAt, until: heldUntil };
  }
  const waits = sinceLastStep(refund, work, now);
  if (waits === null) return null;
  const waitsThere = isAccepted && (waits.reason === 'settlement' || isWaitAtProcessor(waits.reason));
  const until = waitsThere ? work.waitingUntil : work.dueAt;
  return { ...waits, until: until !== null && until > now ? until : null };
}

function sinceLastStep(
  { createdAt, acceptedAt, externalRefundId }: WaitingRefund,
  { waitingFor, waitingSince, unknownSince, leasedUntil }: WaitingWork,
  now: Date,
): Omit<Waiting, 'until'> | null {
  if (isReason(waitingFor)) return { reason: waitingFor, since: waitingSince ?? createdAt };
  if (externalRefundId !== null) return { reason: 'settlement', since: acceptedAt ?? createdAt };
  // The worker of an attempt has died: a lookup follows.
  const isLeased = leasedUntil !== null && leasedUntil > now;
  return unknownSince === null || isLeased ? null : { reason: 'unknown_outcome', since: unknownSince };
}

/** False for null, and for what only a newer version knows, whose workers may run beside this one. */
function isReason(waitingFor: string | null): waitingFor is WaitingReason {
  return waitingReasons.some((reason) => reason === waitingFor);
}
