import {
  arrive,
  complete,
  end,
  isLive,
  isSurelyUnsent,
  type LifecycleModel,
  type ModelPayment,
  type ModelRefund,
  paymentAt,
  readingCall,
} from './model.ts';

/** Faults of a call to the processor: none, a refusal without effect, or a lost answer with or without effect. */
export const troubles = ['none', 'rate-limit', 'error-503', 'reset', 'reset-after-apply'] as const;

export type Trouble = (typeof troubles)[number];

/** The call that a job begins with. */
export type JobCall = 'send' | 'find' | 'check' | 'ask-cancellation' | 'review';

const unknownHorizonHours = 24;
const unavailableHorizonHours = 72;

/** True when a worker has to claim it once all pauses are over. */
export function needsWork({ status, resyncRequested }: ModelRefund): boolean {
  return status === 'processing' || resyncRequested;
}

/** The first call that a job for the refund would make now; null when it makes none. */
export function firstCall(model: LifecycleModel, refund: ModelRefund): JobCall | null {
  if (refund.resting || refund.leased || !needsWork(refund)) return null;
  const call = dueCall(refund);
  return model.paused.has(limited(model, refund, call)) ? null : call;
}

function dueCall(refund: ModelRefund): JobCall {
  if (refund.status !== 'processing') return 'review';
  if (refund.known) return refund.cancelWanted ? 'ask-cancellation' : 'check';
  return isSurelyUnsent(refund) ? 'send' : 'find';
}

/** The calls that a 429 to this one pauses: a review reads or looks up the refund. */
function limited(model: LifecycleModel, refund: ModelRefund, call: JobCall) {
  if (call === 'review') return readingCall(model, refund);
  return `${payment(model, refund).processor} ${call}` as const;
}

/** A job whose first call to the processor has this fault. */
export function work(model: LifecycleModel, refund: ModelRefund, trouble: Trouble): void {
  const call = firstCall(model, refund);
  if (call === null) return;
  const calls = limited(model, refund, call);
  beginCall(refund, call);
  if (trouble === 'rate-limit') model.paused.add(calls);
  answers[call](model, refund, trouble);
}

/** A worker is killed before or after its call: what it wrote before the call and what the processor did remain. */
export function crash(model: LifecycleModel, refund: ModelRefund, when: 'before' | 'after'): void {
  const call = firstCall(model, refund);
  if (call === null) {
    work(model, refund, 'none');
    return;
  }
  beginCall(refund, call);
  refund.leased = true;
  if (call === 'send') refund.unknown = true;
  if (when === 'after') apply(model, refund, call);
}

/** What is on record before the call is made. */
function beginCall(refund: ModelRefund, call: JobCall): void {
  refund.resting = true;
  if (call === 'review') return;
  // The resync restarts the settle delay, during which "not found" is no proof.
  if (call === 'find' && refund.resyncRequested) refund.fresh = true;
  refund.resyncRequested = false;
  if (call === 'find') refund.unknown = true;
  if (call !== 'send') return;
  refund.attempts += 1;
  refund.fresh = true;
}

/** What a call does at the processor. */
function apply(model: LifecycleModel, refund: ModelRefund, call: JobCall): void {
  const { cancellable } = payment(model, refund);
  if (call === 'send') arrive(model, refund);
  if (call === 'ask-cancellation' && cancellable && refund.there === 'open') refund.there = 'canceled';
}

const answers: Record<JobCall, (model: LifecycleModel, refund: ModelRefund, trouble: Trouble) => void> = {
  send,
  find,
  check,
  'ask-cancellation': askCancellation,
  review,
};

function send(model: LifecycleModel, refund: ModelRefund, trouble: Trouble): void {
  if (isApplied(trouble)) apply(model, refund, 'send');
  if (trouble === 'rate-limit') {
    delay(model, refund);
  } else if (trouble !== 'none') {
    refund.unknown = true;
    suffer(model, refund);
  } else if (payment(model, refund).declines) {
    // After an earlier attempt a refusal may be due to that one, so the refund is looked up.
    if (refund.attempts > 1 && refund.declinedThere) refund.known = true;
    payment(model, refund).staleSince = model.hours;
    end(model, refund, 'failed');
  } else {
    accept(model, refund);
  }
}

function find(model: LifecycleModel, refund: ModelRefund, trouble: Trouble): void {
  if (trouble !== 'none') suffer(model, refund);
  else if (refund.there !== 'none' || refund.declinedThere) accept(model, refund);
  else if (!refund.fresh) missing(model, refund);
}

function check(model: LifecycleModel, refund: ModelRefund, trouble: Trouble): void {
  if (trouble === 'none') settle(model, refund);
  else suffer(model, refund);
}

/** After any answer but the confirmation the refund is read again, unless reads are paused. An open refund stays as it is. */
function askCancellation(model: LifecycleModel, refund: ModelRefund, trouble: Trouble): void {
  const before = refund.there;
  if (isApplied(trouble)) apply(model, refund, 'ask-cancellation');
  const isConfirmed = trouble === 'none' && refund.there !== before;
  const isRead = !model.paused.has(limited(model, refund, 'check'));
  if (isConfirmed || (isRead && refund.there !== 'open')) {
    settle(model, refund);
  } else if (trouble === 'none') {
    refund.cancelWanted = false;
    refund.troubledSince = null;
  } else {
    suffer(model, refund);
  }
}

/** Reads a finished refund again. A completed one fails if the processor reversed it, and is flagged until a person has seen to it. */
function review(model: LifecycleModel, refund: ModelRefund, trouble: Trouble): void {
  if (trouble !== 'none') return;
  refund.resyncRequested = false;
  if (refund.status !== 'completed' || isLive(refund)) return;
  end(model, refund, 'failed');
  refund.flagged = true;
}

/** Proven not to be at the processor: sent again, unless it was cancelled or the retry deadline has passed. */
function missing(model: LifecycleModel, refund: ModelRefund): void {
  refund.unknown = false;
  refund.flagged = false;
  if (isTroubledFor(model, refund, unavailableHorizonHours)) {
    end(model, refund, 'failed');
  } else if (refund.cancelWanted) {
    end(model, refund, 'cancelled');
  } else if (!model.paused.has(limited(model, refund, 'send'))) {
    beginCall(refund, 'send');
    send(model, refund, 'none');
  }
}

/** Certainly not applied: retried until the retry deadline. */
function delay(model: LifecycleModel, refund: ModelRefund): void {
  if (isTroubledFor(model, refund, unavailableHorizonHours)) {
    end(model, refund, 'failed');
  } else {
    refund.troubledSince ??= model.hours;
  }
}

function accept(model: LifecycleModel, refund: ModelRefund): void {
  refund.known = true;
  refund.unknown = false;
  settle(model, refund);
}

/** Takes over the processor's final status. An open refund stays, and is flagged once it is overdue. */
function settle(model: LifecycleModel, refund: ModelRefund): void {
  refund.troubledSince = null;
  refund.flagged = isOverdue(model, refund);
  if (refund.there === 'succeeded') complete(refund);
  else if (refund.there === 'failed' || refund.declinedThere) end(model, refund, 'failed');
  else if (refund.there === 'canceled') end(model, refund, 'cancelled');
}

/** No answer: the outcome stays unknown, and the refund is flagged after a day. */
function suffer(model: LifecycleModel, refund: ModelRefund): void {
  refund.troubledSince ??= model.hours;
  if (isTroubledFor(model, refund, unknownHorizonHours)) refund.flagged = true;
}

/** Longer on its way than refunds of its processor take; the payments are those of cards. */
function isOverdue(model: LifecycleModel, refund: ModelRefund): boolean {
  const usualDays = payment(model, refund).processor === 'stripe' ? 10 : 30;
  return refund.there === 'open' && model.hours - (refund.thereSince ?? model.hours) >= usualDays * 24;
}

function isApplied(trouble: Trouble): boolean {
  return trouble === 'none' || trouble === 'reset-after-apply';
}

function isTroubledFor({ hours }: LifecycleModel, { troubledSince }: ModelRefund, deadline: number): boolean {
  return troubledSince !== null && hours - troubledSince >= deadline;
}

function payment(model: LifecycleModel, refund: ModelRefund): ModelPayment {
  return paymentAt(model, refund.payment);
}
