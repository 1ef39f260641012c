import type { Refund, RefundWork } from '../platform/database.ts';
import { isLive, type ListedRefund, type ProcessorRefund } from '../processors/contract/processor.ts';
import { isTerminal } from '../refunds/model/states.ts';
import {
  amountSentence,
  endedSentence,
  extraSentence,
  foundSentence,
  missingSentence,
  movedSentence,
  reversedSentence,
} from './sentences.ts';

/**
 * How the processor's records and ours can differ, and whether a person has to act. Where the evidence leaves one answer
 * only, the service finds it by itself.
 */
export const differenceKinds = {
  /** The processor has a refund that was not made here, of a payment that is on record. */
  made_elsewhere: { needsPerson: false },
  /** The same of payments that are not on record, all in one. */
  made_elsewhere_unrecorded: { needsPerson: false },
  /** Processing here, at its end there. */
  ended_there: { needsPerson: false },
  /** Completed here, and its money came back there. */
  reversed_there: { needsPerson: false },
  /** Not known here whether it was applied, and the processor has it. */
  found_there: { needsPerson: false },
  /** Accepted or completed here, and the processor does not have it. */
  missing_there: { needsPerson: true },
  /** The processor has another amount or currency than was asked. */
  amount_differs: { needsPerson: true },
  /** Failed or cancelled here, and open or completed there. */
  moved_after_end: { needsPerson: true },
  /** The processor has one more refund under the name of ours than was sent. */
  extra_refund: { needsPerson: true },
} as const satisfies Record<string, { needsPerson: boolean }>;

export type DifferenceKind = keyof typeof differenceKinds;

/** A refund of ours, as far as it is compared. */
export type OurRefund = Pick<
  Refund,
  'id' | 'processor' | 'transactionId' | 'externalRefundId' | 'amount' | 'currency' | 'status'
> & { work: Pick<RefundWork, 'unknownSince' | 'leasedUntil'> | null };

/** A difference about a refund of ours. */
export interface Difference {
  kind: Exclude<DifferenceKind, 'made_elsewhere' | 'made_elsewhere_unrecorded'>;
  refundId: string;
  transactionId: string;
  externalRefundId: string;
  /** The sentence for a person: what differs, and what to do. */
  message: string;
}

/**
 * The refund of ours that a listed one is, or claims to be: by the processor's id, else by our name for it and its
 * payment. A voided payment carries no name; it is the refund of its whole amount whose fate is not known, if there is one.
 */
export function matchOf<Ours extends OurRefund>(
  theirs: ListedRefund,
  candidates: readonly Ours[],
): Ours | null {
  const ofPayment = candidates.filter(({ transactionId }) => theirs.transactionIds.includes(transactionId));
  return (
    ofPayment.find(({ externalRefundId }) => externalRefundId === theirs.id) ??
    ofPayment.find(({ id }) => id === theirs.refundId) ??
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
 * Compares a refund of ours with what the processor has of it.
 * @param theirs null when the processor surely does not have it.
 * @returns null when they agree, or when a worker is at work on the refund at this moment.
 */
export function compare(theirs: ProcessorRefund | null, ours: OurRefund, now: Date): Difference | null {
  const { leasedUntil = null } = ours.work ?? {};
  if (ours.status === 'processing' && leasedUntil !== null && leasedUntil > now) return null;
  if (theirs === null) return compareMissing(ours);
  const live = isLive(theirs);
  if (isExtra(theirs, ours)) return live ? difference('extra_refund', ours, theirs) : null;
  if (live && (theirs.amount !== ours.amount || theirs.currency !== ours.currency)) {
    return difference('amount_differs', ours, theirs);
  }
  switch (ours.status) {
    case 'processing':
      if (ours.externalRefundId === null) return difference('found_there', ours, theirs);
      return theirs.state === 'open' ? null : difference('ended_there', ours, theirs);
    case 'completed':
      return live ? null : difference('reversed_there', ours, theirs);
    case 'failed':
    case 'cancelled':
      return live ? difference('moved_after_end', ours, theirs) : null;
    case 'pending':
      return null;
  }
}

/** A refund under our name beside the one that is on record, or of one that has never been sent. */
function isExtra(theirs: ProcessorRefund, ours: OurRefund): boolean {
  if (ours.status === 'pending') return true;
  return ours.externalRefundId !== null && ours.externalRefundId !== theirs.id;
}

/** Nothing moved of what has failed or was cancelled, so that the processor need not have it. */
function compareMissing(ours: OurRefund): Difference | null {
  if (ours.externalRefundId === null) return null;
  if (isTerminal(ours.status) && ours.status !== 'completed') return null;
  return { ...named('missing_there', ours, ours.externalRefundId), message: missingSentence(ours) };
}

const sentences = {
  ended_there: endedSentence,
  reversed_there: reversedSentence,
  found_there: foundSentence,
  amount_differs: amountSentence,
  moved_after_end: movedSentence,
  extra_refund: extraSentence,
};

function difference(kind: keyof typeof sentences, ours: OurRefund, theirs: ProcessorRefund): Difference {
  return { ...named(kind, ours, theirs.id), message: sentences[kind](ours, theirs) };
}

function named(kind: Difference['kind'], ours: OurRefund, externalRefundId: string) {
  return { kind, refundId: ours.id, transactionId: ours.transactionId, externalRefundId };
}
