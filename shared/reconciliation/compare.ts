import type { Refund, RefundWork } from '../platform/database.ts';
import {
  isLive,
  isNamed,
  type ListedRefund,
  type ProcessorRefund,
} from '../processors/contract/processor.ts';
import { type DiscrepancyKind, type Facts, factsOf } from '../refunds/model/flags.ts';

/** A refund of ours, as far as it is compared. */
export type OurRefund = Pick<
  Refund,
  'id' | 'idempotencyKey' | 'transactionId' | 'externalRefundId' | 'amount' | 'currency' | 'status'
> & { work: Pick<RefundWork, 'unknownSince' | 'leasedUntil'> | null };

/** A difference between a refund of ours and the processor's record of it. */
export interface Discrepancy {
  kind: DiscrepancyKind;
  facts: Facts;
}

/**
 * The refund of ours that a listed one is, or claims to be: by the processor's id, else by our name for it and its payment.
 * A voided payment carries no name: it is the refund of the whole amount whose outcome is unknown, if there is one.
 */
export function matchOf<Ours extends OurRefund>(
  theirs: ListedRefund,
  candidates: readonly Ours[],
): Ours | null {
  const ofPayment = candidates.filter(({ transactionId }) => theirs.transactionIds.includes(transactionId));
  return (
    ofPayment.find(({ externalRefundId }) => externalRefundId === theirs.id) ??
    ofPayment.find(({ id, idempotencyKey }) =>
      isNamed(theirs, { refundId: id, requestDigest: idempotencyKey }),
    ) ??
    ofPayment.find((ours) => mayBeVoid(theirs, ours)) ??
    null
  );
}

function mayBeVoid(theirs: ListedRefund, ours: OurRefund): boolean {
  return (
    theirs.id === ours.transactionId &&
    ours.externalRefundId === null &&
    ours.work?.unknownSince != null &&
    ours.amount === theirs.amount &&
    ours.currency === theirs.currency
  );
}

/**
 * Compares a refund of ours with the processor's record of it.
 * @param theirs null when the processor does not have it.
 * @returns null when they agree, and while a worker has the refund under lease.
 */
export function compare(theirs: ProcessorRefund | null, ours: OurRefund, now: Date): Discrepancy | null {
  const leasedUntil = ours.work?.leasedUntil ?? null;
  if (ours.status === 'processing' && leasedUntil !== null && leasedUntil > now) return null;
  const kind = theirs === null ? compareMissing(ours) : compareFound(theirs, ours);
  return kind === null ? null : { kind, facts: factsOf(ours, theirs) };
}

/** Nothing moved for a refund that failed or was cancelled, so the processor need not have it. */
function compareMissing({ externalRefundId, status }: OurRefund): DiscrepancyKind | null {
  const isExpected = externalRefundId !== null && (status === 'processing' || status === 'completed');
  return isExpected ? 'missing_there' : null;
}

function compareFound(theirs: ProcessorRefund, ours: OurRefund): DiscrepancyKind | null {
  const live = isLive(theirs);
  if (isExtra(theirs, ours)) return live ? 'extra_refund' : null;
  const differs = live && (theirs.amount !== ours.amount || theirs.currency !== ours.currency);
  switch (ours.status) {
    case 'processing':
      if (differs) return 'amount_differs';
      if (ours.externalRefundId === null) return 'found_there';
      return theirs.state === 'open' ? null : 'ended_there';
    case 'completed':
      if (differs) return 'amount_differs';
      return live ? null : 'reversed_there';
    // Before the amount: a flag for the amount may have been dismissed while the refund was completed.
    case 'failed':
    case 'cancelled':
      return live ? 'moved_after_end' : null;
    case 'pending':
      return null;
  }
}

/** A refund under our name beside the one that is on record, or of one that has never been sent. */
function isExtra(theirs: ProcessorRefund, ours: OurRefund): boolean {
  if (ours.status === 'pending') return true;
  return ours.externalRefundId !== null && ours.externalRefundId !== theirs.id;
}
