import type { RefundStatus } from './states.ts';

/** What is known of a refund when the worker decides what to do with it. */
export interface RefundSituation {
  status: RefundStatus;
  /** The processor's id, once it has accepted the refund. */
  externalRefundId: string | null;
  /** Not null while the fate of some attempt is unknown. */
  unknownSince: Date | null;
  cancelRequestedAt: Date | null;
  /** False while the processor has not yet told about the payment. */
  transactionVerified: boolean;
  /** True when somebody says that the processor has news of it, which casts doubt on that it is not there. */
  reviewDue: boolean;
}

/**
 * The next right thing to do for a refund.
 * - `nothing`: it is finished, or waits for a person.
 * - `verify`: read the payment first; it was unreachable when the refund was created.
 * - `send`: surely not at the processor: submit it.
 * - `find`: perhaps at the processor: look before anything else.
 * - `check`: at the processor: ask whether it has settled.
 * - `ask-cancellation`: at the processor, and the client wants it back.
 * - `cancel`: surely not at the processor, and the client wants it back.
 * - `review`: finished here, and perhaps no longer at the processor.
 */
export type RefundStep =
  | 'nothing'
  | 'verify'
  | 'send'
  | 'find'
  | 'check'
  | 'ask-cancellation'
  | 'cancel'
  | 'review';

/** Decides from what is on record alone, so that a duplicate, late or lost job is harmless. */
export function nextStep(situation: RefundSituation): RefundStep {
  if (situation.status === 'pending') return 'nothing';
  if (situation.status !== 'processing') return situation.reviewDue ? 'review' : 'nothing';
  const wantsCancel = situation.cancelRequestedAt !== null;
  if (situation.externalRefundId !== null) return wantsCancel ? 'ask-cancellation' : 'check';
  if (situation.unknownSince !== null || situation.reviewDue) return 'find';
  if (wantsCancel) return 'cancel';
  return situation.transactionVerified ? 'send' : 'verify';
}
