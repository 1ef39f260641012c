import type { RefundStatus } from '../../../shared/refunds/model/states.ts';

// The lifecycle of refunds as it is promised, and nothing of how it is done: what clients, people, processors and time do
// to it. What a job does is in `lifecycle-job-model.ts`.

export type ProcessorName = 'stripe' | 'braintree';

export interface ModelPayment {
  processor: ProcessorName;
  /** Minor units, like `reserved`. */
  amount: number;
  reserved: number;
  /** True when the processor takes refunds back that are still open. */
  cancellable: boolean;
  /** True when the issuer turns every refund down. */
  declines: boolean;
  /** True once what its processor says of it is on record, which it is with its first refund. */
  read: boolean;
}

export interface ModelRefund {
  payment: number;
  amount: number;
  status: RefundStatus;
  /** What the processor really has, in one word for both. */
  there: 'none' | 'open' | 'succeeded' | 'failed' | 'canceled';
  /** How often it was sent. */
  attempts: number;
  /** True once its processor's id is on record. */
  known: boolean;
  /** True while the fate of an attempt is open. */
  unknown: boolean;
  /** True while finding nothing proves nothing, because the last attempt was just made. */
  fresh: boolean;
  /** True while it belongs to a worker that died. */
  leased: boolean;
  /** True when nothing is due before its pause is over. */
  resting: boolean;
  cancelWanted: boolean;
  /** True when somebody has said that the processor has news, and nobody has read it since. */
  hasNews: boolean;
  flagged: boolean;
  /** In the model's hours; null while there is no trouble. */
  troubledSince: number | null;
}

export interface LifecycleModel {
  payments: ModelPayment[];
  refunds: ModelRefund[];
  /** Hours since the beginning. */
  hours: number;
  /** Processors whose account rests after a 429. */
  throttled: Set<ProcessorName>;
}

/** What can be seen of refunds and payments from outside, amounts in minor units. */
export interface Sight {
  refunds: { status: string; flagged: boolean; there: string }[];
  payments: { reserved: number; outside: number }[];
}

/** Minor units above which a refund waits for approval. */
export const approvalAbove = 4_000;

export function newModel(): LifecycleModel {
  const usual = { reserved: 0, cancellable: true, declines: false, read: false };
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
    throttled: new Set(),
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
 * @param answers false while the processor does not answer: a policy that binds needs the payment on record. A
 * processor that asked for fewer requests is not asked.
 * @returns the answer: status, and the refund's status or the error's code.
 */
export function create(model: LifecycleModel, index: number, amount: number, answers: boolean): string {
  const payment = paymentAt(model, index);
  const reachable = answers && !model.throttled.has(payment.processor);
  if (!(payment.read || reachable)) return '503 service_unavailable';
  const left = remaining(model, index);
  if (left <= 0) return '409 refund_already_processed';
  if (amount > left) return '400 validation_error';
  const status = amount > approvalAbove ? 'pending' : 'processing';
  payment.reserved += amount;
  payment.read = true;
  model.refunds.push({
    payment: index,
    amount,
    status,
    there: 'none',
    attempts: 0,
    known: false,
    unknown: false,
    fresh: false,
    leased: false,
    resting: false,
    cancelWanted: false,
    hasNews: false,
    flagged: false,
    troubledSince: null,
  });
  return `200 ${status}`;
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

/** A person's decision about a refund that waits for approval; answers what it comes to. */
export function decide(model: LifecycleModel, refund: ModelRefund, approves: boolean): string {
  if (refund.status !== 'pending') return 'not-pending';
  if (approves) refund.status = 'processing';
  else end(model, refund, 'cancelled');
  return 'done';
}

/** A person's decision about a flagged refund, without insisting; answers what it comes to. */
export function resolve(
  model: LifecycleModel,
  refund: ModelRefund,
  status: 'completed' | 'failed' | 'cancelled',
): string {
  if (status === 'completed' && refund.there === 'none') return 'validation_error';
  if (!refund.flagged) return 'not-flagged';
  if (refund.leased) return 'leased';
  if (!allows(refund, status)) return 'contradicted';
  if (status !== 'completed') {
    end(model, refund, status);
    return 'done';
  }
  refund.known = true;
  complete(refund);
  return 'done';
}

/** Whether what can be found out at the processor allows a person's decision. */
function allows(refund: ModelRefund, status: 'completed' | 'failed' | 'cancelled'): boolean {
  if (status === 'completed') return refund.there === 'succeeded';
  if (refund.there === 'none') return isSurelyUnsent(refund) || !refund.fresh;
  return !isLive(refund);
}

/** Somebody says that the processor has news; false for a refund that has never been there. */
export function tellNews(refund: ModelRefund): boolean {
  if (refund.status === 'pending') return false;
  refund.hasNews = true;
  refund.resting = false;
  return true;
}

/** Pauses and leases are over, and an attempt has surely ended. */
export function passHours(model: LifecycleModel, hours: number): void {
  model.hours += hours;
  model.throttled.clear();
  for (const refund of model.refunds) {
    refund.resting = false;
    refund.leased = false;
    refund.fresh = false;
  }
}

/** True when no attempt may have been applied, and nobody says otherwise. */
export function isSurelyUnsent({ known, unknown, hasNews }: ModelRefund): boolean {
  return !known && !unknown && !hasNews;
}

/** True while money has moved at the processor or may yet move. */
export function isLive({ there }: ModelRefund): boolean {
  return there === 'open' || there === 'succeeded';
}

/** What is to be seen, line by line like `inWords`. */
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

/** The end with the money moved. */
export function complete(refund: ModelRefund): void {
  refund.status = 'completed';
  refund.flagged = false;
}

/** The end without money gives the reservation back. */
export function end(model: LifecycleModel, refund: ModelRefund, status: 'failed' | 'cancelled'): void {
  refund.status = status;
  refund.flagged = false;
  paymentAt(model, refund.payment).reserved -= refund.amount;
}
