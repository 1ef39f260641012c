import { displayNameOf } from '#shared/processors/registry.ts';
import { arrivalOf } from '#shared/refunds/model/arrival.ts';
import type { RefundWithWork } from '#shared/refunds/model/refund.ts';
import type { Waiting } from '#shared/refunds/model/waiting.ts';
import { inDay, inTime } from '../../words/numbers.ts';
import { waitingWords } from '../../words/waiting.ts';

interface Situation {
  refund: RefundWithWork;
  /** What the refund waits for. */
  waiting: Waiting | null;
  /** True when it may have moved money although it ended otherwise. */
  isUncertain: boolean;
  now: Date;
}

/** Why a refund is not moving, or what happens next to it, and when, in words; null where a notice says it. Times are ISO timestamps. */
export function nextStep({ refund, waiting, isUncertain, now }: Situation): string | null {
  const { status, work, processor } = refund;
  const name = displayNameOf(processor);
  if (status === 'processing') {
    if (work?.cancelRequestedAt != null) {
      const requested = `Cancellation requested. ${name} has not confirmed it yet.`;
      return sentences(requested, next('Next request', work.dueAt, now));
    }
    return waiting === null ? whileMoving(refund, name, now) : whileWaiting(refund, waiting, now);
  }
  if (isUncertain) return null;
  if (status === 'cancelled') return "Cancelled. The customer won't get the money.";
  if (status !== 'completed') return null;
  const { kind, expectedBy = null } = arrivalOf(refund, null) ?? {};
  if (kind === 'reversal') return `${name} reversed the charge: it disappears from the customer's statement.`;
  if (expectedBy === null) return `${name} completed it.`;
  const isOver = expectedBy < now.toISOString().slice(0, 10);
  return `${name} sent it to the bank, which ${isOver ? 'should have shown' : 'usually shows'} it by ${inDay(expectedBy)}.`;
}

function whileMoving({ work }: RefundWithWork, name: string, now: Date): string {
  const isAttempted = work?.attemptStartedAt != null && work.leasedUntil !== null && work.leasedUntil > now;
  return isAttempted ? `Being sent to ${name}.` : `It is sent to ${name} as soon as a worker is free.`;
}

function whileWaiting(refund: RefundWithWork, { reason, since, until }: Waiting, now: Date): string {
  const { processor, externalRefundId } = refund;
  const words = waitingWords(reason, processor);
  const wordsSince = `${words} since ${since.toISOString()}`;
  switch (reason) {
    case 'hold':
      return `${words}. ${next(`Sent to ${displayNameOf(processor)}`, until, now)} Until then it can be cancelled.`;
    case 'settlement': {
      const { expectedBy = null } = arrivalOf(refund, reason) ?? {};
      return expectedBy === null
        ? `${words}.`
        : `${words}; the bank usually shows it by ${inDay(expectedBy)}.`;
    }
    case 'customer_action': {
      const expiry = until && `; the request expires on ${inDay(until.toISOString().slice(0, 10))}`;
      return `${wordsSince}${expiry ?? ''}.`;
    }
    case 'recovery':
      return `${wordsSince}. Nothing is sent until it has run.`;
    case 'unknown_outcome':
      return sentences(`${wordsSince}.`, next('Next lookup', until, now));
    default:
      return sentences(
        `${wordsSince}.`,
        next(externalRefundId === null ? 'Next attempt' : 'Next check', until, now),
      );
  }
}

/** "Next attempt in 12 s." Empty where that is not known. */
function next(what: string, at: Date | null, now: Date): string {
  if (at === null) return '';
  const waitMs = at.getTime() - now.getTime();
  return `${what} ${waitMs < 1_000 ? 'now' : `in ${inTime(waitMs)}`}.`;
}

function sentences(...each: readonly string[]): string {
  return each.filter((sentence) => sentence !== '').join(' ');
}
