import type { RefundWork } from '#shared/platform/database.ts';
import { displayNameOf } from '#shared/processors/registry.ts';
import { arrivalOf, waitsForCustomer } from '#shared/refunds/model/arrival.ts';
import type { RefundWithWork } from '#shared/refunds/model/refund.ts';
import { inDay, inTime } from '../../words/numbers.ts';

/**
 * What happens next to a refund, and when, in words; null where a notice says it.
 * @param isUncertain true when it may have moved money although it ended otherwise.
 */
export function nextStep(refund: RefundWithWork, isUncertain: boolean, now: Date): string | null {
  const name = displayNameOf(refund.processor);
  const { kind, expectedBy = null } = arrivalOf(refund) ?? {};
  if (refund.status === 'processing') return whileProcessing(refund, name, expectedBy, now);
  if (isUncertain) return null;
  if (refund.status === 'cancelled') return "Cancelled. The customer won't get the money.";
  if (refund.status !== 'completed') return null;
  if (kind === 'reversal') return `${name} reversed the charge: it disappears from the customer's statement.`;
  if (expectedBy === null) return `${name} completed it.`;
  const isOver = expectedBy < now.toISOString().slice(0, 10);
  return `${name} sent it to the bank, which ${isOver ? 'should have shown' : 'usually shows'} it by ${inDay(expectedBy)}.`;
}

function whileProcessing(refund: RefundWithWork, name: string, expectedBy: string | null, now: Date): string {
  const { work, externalRefundId, heldUntil } = refund;
  const next = (what: string) => timed(what, work, name, now);
  if (work?.cancelRequestedAt != null) {
    return `Cancellation requested. ${name} has not confirmed it yet. ${next('Next request')}`;
  }
  if (waitsForCustomer(refund)) return `${name} has it, and waits for the customer's bank details.`;
  if (externalRefundId !== null) {
    const arrival = expectedBy === null ? '.' : `; the bank usually shows it by ${inDay(expectedBy)}.`;
    return `${name} has it${arrival} ${isUnanswered(work) ? next('Next check') : ''}`.trimEnd();
  }
  if (work?.attemptStartedAt != null && work.leasedUntil !== null && work.leasedUntil > now) {
    return `Being sent to ${name}.`;
  }
  if (work?.unknownSince != null || work?.attemptStartedAt != null) {
    return `Sent, and ${name} may have it. ${next('Next lookup')}`;
  }
  if (heldUntil !== null && heldUntil > now) {
    return `Held by a policy. Sent to ${name} in ${inTime(heldUntil.getTime() - now.getTime())}, unless it is cancelled.`;
  }
  if (work?.isKeySpent === true && work.flaggedAt === null && work.dueAt !== null && work.dueAt > now) {
    return `${name} refunds it once the payment has settled. ${next('Next attempt')}`;
  }
  return isUnanswered(work) || work?.flaggedAt != null
    ? next('Next attempt')
    : `It is sent to ${name} as soon as a worker is free.`;
}

/** True while the last call to the processor has got no result. */
function isUnanswered(work: RefundWork | null): boolean {
  return work !== null && work.retryingSince !== null;
}

/** "Next attempt in 12 s, because the last request to Stripe got no result." That may as well be a rate limit. */
function timed(what: string, work: RefundWork | null, name: string, now: Date): string {
  if (work?.dueAt == null) return 'Nothing happens until the flag is resolved.';
  const waitMs = work.dueAt.getTime() - now.getTime();
  const why =
    isUnanswered(work) && work.flagReason === null
      ? `, because the last request to ${name} got no result`
      : '';
  return `${what} ${waitMs < 1_000 ? 'now' : `in ${inTime(waitMs)}`}${why}.`;
}
