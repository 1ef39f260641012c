import type { RefundStatus } from '#shared/refunds/model/states.ts';

// A model of the documented refund lifecycle, independent of its implementation: what clients, people, processors and
// time do to a refund. `job-model.ts` models what a job does.

export type ProcessorName = 'stripe' | 'braintree';

export interface ModelPayment {
  processor: ProcessorName;
  /** Minor units, like `reserved`. */
  amount: number;
  reserved: number;
  /** True when the processor can cancel open refunds. */
  cancellable: boolean;
  /** True when the issuer declines every refund. */
  declines: boolean;
  /** When it was last read from its processor, in the model's hours, like `staleSince`; null while it is not stored. */
  readAt: number | null;
  /** When it last changed at its processor; a read at the same moment may have been too early. */
  staleSince: number | null;
}

export interface ModelRefund {
  payment: number;
  amount: number;
  status: RefundStatus;
  /** The refund's actual state at the processor. */
  there: 'none' | 'open' | 'succeeded' | 'failed' | 'canceled';
  /** True once its processor keeps it as declined, which is no refund. */
  declinedThere: boolean;
  /** When it was made there, in the model's hours; null while it was not. */
  thereSince: number | null;
  /** How often it was sent. */
  attempts: number;
  /** True once its processor's id is on record. */
  known: boolean;
  /** True while the outcome of an attempt is unknown. */
  unknown: boolean;
  /** True while "not found" is no proof, because the last attempt is too recent. */
  fresh: boolean;
  /** True while a killed worker has its lease. */
  leased: boolean;
  /** True until its pause is over. */
  resting: boolean;
  cancelWanted: boolean;
  /** True while a requested resync is outstanding. */
  resyncRequested: boolean;
  flagged: boolean;
  /** In the model's hours; null while there is no trouble. */
  troubledSince: number | null;
}

export interface LifecycleModel {
  payments: ModelPayment[];
  refunds: ModelRefund[];
  /** Hours since the beginning. */
  hours: number;
  /** What is paused after a 429: a processor and the calls of its account. */
  paused: Set<`${ProcessorName} ${string}`>;
}

/** The observable state of refunds and payments. Amounts are in minor units. */
export interface Sight {
  refunds: { status: string; flagged: boolean; there: string }[];
  payments: { reserved: number; outside: number }[];
}

/** Refunds require approval when those of their payment come to more than this, in minor units. */
export const approvalAbove = 4_000;

export function newModel(): LifecycleModel {
  const usual = { reserved: 0, cancellable: true, declines: false, readAt: null, staleSince: null };
  return {
    payments: [
      { ...usual, processor: 'stripe', amount: 10_000, cancellable: false },
      { ...usual, processor: 'stripe', amount: 6_000 },
      { ...usual, processor: 'braintree', amount: 8_000 },
      { ...usual, processor: 'stripe', amount: 5_000, declines: true },
      { ...usual, processor: 'braintree', amount: 5_000, declines: true },
    ],
    refunds: [],
    hours: 0,
    paused: new Set(),
  };
}

export function paymentAt({ payments }: LifecycleModel, index: number): ModelPayment {
  const payment = payments[index];
  if (payment === undefined) throw new RangeError(`The model has no payment ${index}`);
  return payment;
}

export function remaining(model: LifecycleModel, payment: number): number {
  const { amount, reserved } = paymentAt(model, payment);
  return amount - reserved;
}

/**
 * A creation.
 * @param answers false while the processor does not answer. An enforced policy then needs a payment that was read before.
 * @returns the answer: status, and the refund's status or the error's code.
 */
export function create(model: LifecycleModel, index: number, amount: number, answers: boolean): string {
  const payment = paymentAt(model, index);
  if (!(isFresh(payment) || answers)) return '503 service_unavailable';
  // A refused creation stores no payment, but what was read of one that is stored.
  if (payment.readAt !== null && answers) payment.readAt = model.hours;
  const left = remaining(model, index);
  if (left <= 0) return '409 refund_already_processed';
  if (amount > left) return '400 validation_error';
  const status = payment.reserved + amount > approvalAbove ? 'pending' : 'processing';
  payment.reserved += amount;
  if (answers) payment.readAt = model.hours;
  model.refunds.push({
    payment: index,
    amount,
    status,
    there: 'none',
    thereSince: null,
    declinedThere: false,
    attempts: 0,
    known: false,
    unknown: false,
    fresh: false,
    leased: false,
    resting: false,
    cancelWanted: false,
    resyncRequested: false,
    flagged: false,
    troubledSince: null,
  });
  return `200 ${status}`;
}

function isFresh({ readAt, staleSince }: ModelPayment): boolean {
  return readAt !== null && (staleSince === null || readAt > staleSince);
}

/** A client's request to cancel; answers like `create`. */
export function cancel(model: LifecycleModel, refund: ModelRefund): string {
  if (refund.status === 'pending' || (refund.status === 'processing' && isSurelyUnsent(refund))) {
    end(model, refund, 'cancelled');
    return '200 cancelled';
  }
  if (refund.status === 'processing' && !refund.cancelWanted) {
    refund.cancelWanted = true;
    refund.resting = false;
  }
  return '409 refund_not_cancellable';
}

/** Approves or rejects a refund that awaits approval; returns the outcome. */
export function decide(model: LifecycleModel, refund: ModelRefund, approves: boolean): string {
  if (refund.status !== 'pending') return 'not-pending';
  if (approves) refund.status = 'processing';
  else end(model, refund, 'cancelled');
  return 'done';
}

/** Resolves a flagged refund without `force`; returns the outcome. */
export function resolve(
  model: LifecycleModel,
  refund: ModelRefund,
  status: 'completed' | 'failed' | 'cancelled',
): string {
  if (status === 'completed' && refund.there === 'none' && !refund.known) return 'validation_error';
  if (!refund.flagged) return 'not-flagged';
  if (refund.status !== 'processing') return 'not-allowed';
  if (refund.leased) return 'leased';
  if (!allows(model, refund, status)) return 'contradicted';
  paymentAt(model, refund.payment).staleSince = model.hours;
  if (status !== 'completed') {
    end(model, refund, status);
    return 'done';
  }
  refund.known = true;
  complete(refund);
  return 'done';
}

/** True when the processor can be read, and its state does not contradict the status. */
function allows(
  model: LifecycleModel,
  refund: ModelRefund,
  status: 'completed' | 'failed' | 'cancelled',
): boolean {
  const isRead = !model.paused.has(readingCall(model, refund));
  // One that is not known is read with its payment.
  if (status === 'completed') return refund.there === 'succeeded' && (isRead || !refund.known);
  if (isSurelyUnsent(refund)) return true;
  if (refund.there === 'none' && !refund.declinedThere) return isRead && !refund.fresh;
  return isRead && !isLive(refund);
}

/** The calls that a 429 to the reading of the refund pauses. */
export function readingCall(model: LifecycleModel, { payment, known }: ModelRefund) {
  return `${paymentAt(model, payment).processor} ${known ? 'check' : 'find'}` as const;
}

/** Requests a resync; false for a refund that was never sent. */
export function requestResync(refund: ModelRefund): boolean {
  if (refund.status === 'pending') return false;
  refund.resyncRequested = true;
  refund.resting = false;
  return true;
}

/** Ends all pauses and leases; every attempt has ended. */
export function passHours(model: LifecycleModel, hours: number): void {
  model.hours += hours;
  model.paused.clear();
  for (const refund of model.refunds) {
    refund.resting = false;
    refund.leased = false;
    refund.fresh = false;
  }
}

/** True when no attempt can have been applied and no resync is requested. */
export function isSurelyUnsent({ known, unknown, resyncRequested }: ModelRefund): boolean {
  return !known && !unknown && !resyncRequested;
}

/** True while the processor has moved the money or still may. */
export function isLive({ there }: ModelRefund): boolean {
  return there === 'open' || there === 'succeeded';
}

/** The expected state, one line each like `inWords`. */
export function expectedSight({ refunds, payments }: LifecycleModel): string[] {
  return inWords({ refunds, payments: payments.map(({ reserved }) => ({ reserved, outside: 0 })) });
}

export function inWords({ refunds, payments }: Sight): string[] {
  return [
    ...refunds.map(
      ({ status, flagged, there }, index) =>
        `refund ${index} is ${status}${flagged ? ' and flagged' : ''}, at its processor: ${there}`,
    ),
    ...payments.map(
      ({ reserved, outside }, index) =>
        `payment ${index} has ${reserved} reserved, and ${outside} refunded outside`,
    ),
  ];
}

export function complete(refund: ModelRefund): void {
  refund.status = 'completed';
  refund.flagged = false;
}

/** What a processor does with a refund that was sent. Braintree keeps also what it declines. */
export function arrive(model: LifecycleModel, refund: ModelRefund): void {
  const { declines, processor } = paymentAt(model, refund.payment);
  refund.declinedThere = declines && processor === 'braintree';
  if (declines) return;
  refund.there = 'open';
  refund.thereSince = model.hours;
}

/** Ends a refund without moving money, and releases its reservation. */
export function end(model: LifecycleModel, refund: ModelRefund, status: 'failed' | 'cancelled'): void {
  refund.status = status;
  refund.flagged = false;
  const payment = paymentAt(model, refund.payment);
  payment.reserved -= refund.amount;
  if (refund.known) payment.staleSince = model.hours;
}
