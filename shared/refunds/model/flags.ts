import type { Refund, RefundWork } from '../../platform/database.ts';
import type { ProcessorRefund } from '../../processors/contract/processor.ts';
import type { RefundStatus } from './states.ts';

/** How the processor's records of one of our refunds can differ from ours. */
export type DiscrepancyKind =
  /** Processing here, ended at the processor. */
  | 'ended_there'
  /** Completed here, failed or cancelled at the processor. */
  | 'reversed_there'
  /** Not known here whether it was applied, and the processor has it. */
  | 'found_there'
  /** Accepted or completed here, and the processor does not have it. */
  | 'missing_there'
  /** The processor has another amount or currency than was asked. */
  | 'amount_differs'
  /** Failed or cancelled here, open or completed at the processor. */
  | 'moved_after_end'
  /** The processor has another refund under the name of ours. */
  | 'extra_refund';

/** What reconciliation can find. */
export type FindingKind =
  | DiscrepancyKind
  /** The processor has a refund that was not made here, of a payment that is on record. */
  | 'made_elsewhere'
  /** The processor has a refund under a name of ours, or a void without one, that is not on record, as after a restore. */
  | 'not_on_record';

/** Why a refund is flagged. */
export type FlagReason =
  | DiscrepancyKind
  /** The processor refuses what the account asks for, or the credentials cannot be read. */
  | 'account_unusable'
  /** The processor refuses this refund or its payment to the account, which works otherwise. */
  | 'not_permitted'
  /** The balance of the account at the processor does not cover it. */
  | 'insufficient_balance'
  /** The processor keeps it for a reviewer, and carries it out itself once that person approves it. */
  | 'approval_at_processor'
  /** The processor has it, and it takes longer than refunds of its kind do. */
  | 'overdue'
  /** It had completed, and the money came back: the customer has to be paid in another way. */
  | 'returned'
  /** An attempt may have been applied, and lookups have found no answer for too long. */
  | 'outcome_unknown'
  /** The processor has it, and its state could not be read for too long. */
  | 'no_answer'
  /** It is not sent, because the processor's answers about its payment are not as documented. */
  | 'answer_unreadable'
  /** It is not sent, because its payment has not settled for too long. */
  | 'unsettled';

/** The facts behind a flag or a finding, stored as JSON. Amounts are minor units. */
export type Facts = {
  /** Our refund when it was found. */
  status?: RefundStatus;
  expectedAmount?: number;
  expectedCurrency?: string;
  /** The refund at the processor. */
  externalRefundId?: string;
  processorStatus?: string;
  amount?: number;
  currency?: string;
  /** The processor's own words. */
  message?: string;
  /** What is left of the payment of a refund made elsewhere; missing when the processor does not have the payment. */
  remaining?: number;
};

/** A flag as it is stored; flag-wording.ts has the words. */
export type Flag = {
  reason: FlagReason;
  facts: Facts;
};

type FlaggedWork = Pick<RefundWork, 'flagReason' | 'flagFacts'> | null;

/** The flag of a refund; null when it is not flagged. */
export function flagOf(work: FlaggedWork): Flag | null {
  if (work === null || work.flagReason === null) return null;
  return { reason: work.flagReason as FlagReason, facts: work.flagFacts as Facts };
}

/** True when a flag stands for the same problem, although its words may have changed. */
export function isSameFlag(flag: Flag | null, other: Flag | null): boolean {
  if (flag === null || other === null) return false;
  return flag.reason === other.reason && flag.facts.externalRefundId === other.facts.externalRefundId;
}

/**
 * True while a refund is flagged for another one that the processor has under its name. Only a person ends such a flag; any
 * other problem of the refund is flagged after it.
 */
export function isFlaggedForExtra(work: Pick<RefundWork, 'flagReason'> | null): boolean {
  return work?.flagReason === 'extra_refund';
}

/** True while a refund is flagged for something that ends when the processor agrees again. A person ends the flag of money that came back. */
export function hasOwnFlag(work: Pick<RefundWork, 'flagReason'> | null): boolean {
  if (work === null || work.flagReason === null) return false;
  return !isFlaggedForExtra(work) && work.flagReason !== 'returned';
}

/** Both sides of a discrepancy. @param theirs null when the processor does not have the refund. */
export function factsOf(
  ours: Pick<Refund, 'status' | 'amount' | 'currency' | 'externalRefundId'>,
  theirs: ProcessorRefund | null,
): Facts {
  const { status, amount, currency, externalRefundId } = ours;
  const here = { status, expectedAmount: Number(amount), expectedCurrency: currency };
  if (theirs !== null) return { ...here, ...processorFacts(theirs) };
  return externalRefundId === null ? here : { ...here, externalRefundId };
}

/** What the processor has. */
export function processorFacts({ id, processorStatus, amount, currency }: ProcessorRefund): Facts {
  return { externalRefundId: id, processorStatus, amount: Number(amount), currency };
}
