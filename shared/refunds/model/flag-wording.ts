import { formatAmount, isCurrency } from '../../money/money.ts';
import { displayNameOf } from '../../processors/registry.ts';
import type { Facts, FindingKind, FlagReason } from './flags.ts';

/** A flag or a finding for people. */
interface Words {
  /** A few words for tables. */
  title: string;
  /** What is known, in a sentence or two. */
  summary: string;
  /** What to do about it; null when nothing is left to do. */
  advice: string | null;
}

/**
 * Renders a flag or a finding.
 * @param processor its name, such as `stripe`.
 */
export function wordsFor(code: FlagReason | FindingKind, facts: Facts, processor: string): Words {
  const { processorStatus } = facts;
  const worded =
    processorStatus === undefined
      ? facts
      : { ...facts, processorStatus: processorStatusWords(processorStatus) };
  return words[code]?.(worded, displayNameOf(processor)) ?? { title: code, summary: code, advice: null };
}

/** The status of a refund at its processor, in words. */
export function processorStatusWords(processorStatus: string): string {
  // Stripe waits for the customer's bank account, for example. Such a refund goes on without the merchant.
  return processorStatus === 'requires_action'
    ? "waiting for the customer's bank details"
    : processorStatus.replaceAll('_', ' ');
}

const words: Record<FlagReason | FindingKind, (facts: Facts, processor: string) => Words> = {
  account_unusable: (facts, processor) => ({
    title: 'Account credentials do not work',
    summary: `The ${processor} account cannot be used. ${lastAnswer(facts)}`,
    advice: `Set new ${processor} credentials. The refund then continues.`,
  }),
  not_permitted: (facts, processor) => ({
    title: 'Not permitted',
    summary: `${processor} refuses this refund to the account, which works otherwise. ${lastAnswer(facts)}`,
    advice: `Check the payment and the permissions of the account in ${processor}. The refund is retried automatically.`,
  }),
  insufficient_balance: (_facts, processor) => ({
    title: 'Balance too low',
    summary: `The balance at ${processor} does not cover this refund.`,
    advice: `Add funds to the balance in ${processor}. The refund then continues.`,
  }),
  approval_at_processor: (_facts, processor) => ({
    title: 'Awaiting approval at the processor',
    summary: `A rule of the ${processor} account requires a reviewer's approval. ${processor} sends the refund once it is approved there.`,
    advice: `Approve or deny it in ${processor}. If it was denied or has expired there, resolve it here as failed.`,
  }),
  returned: (facts, processor) => ({
    title: 'Returned after completion',
    summary: `${processor} had completed ${facts.externalRefundId}, and the money came back. ${lastAnswer(facts)}`,
    advice: 'Pay the customer in another way, then dismiss this and say what was done.',
  }),
  overdue: (facts, processor) => ({
    title: 'Overdue',
    summary: `${processor} has shown ${facts.externalRefundId} as ${facts.processorStatus} for longer than such refunds take.`,
    advice: `Ask ${processor} about it. It completes or fails here as soon as it does there.`,
  }),
  outcome_unknown: (facts, processor) => ({
    title: 'Outcome unknown',
    summary: `It is unknown whether ${processor} has this refund. ${lastAnswer(facts)}`,
    advice: `Look for it in ${processor}, then recheck or resolve it.`,
  }),
  no_answer: (facts, processor) => ({
    title: 'No answer',
    summary: `${processor} has this refund, but its state cannot be read. ${lastAnswer(facts)}`,
    advice: `Recheck it once ${processor} is available again.`,
  }),
  answer_unreadable: (facts, processor) => ({
    title: 'Answer unreadable',
    summary: `${processor} answers about the payment, but not as documented, so this refund is not sent. ${lastAnswer(facts)}`,
    advice: `Check the payment in ${processor} and report the answer. Cancel the refund if it was made there by hand.`,
  }),
  unsettled: (facts, processor) => ({
    title: 'Payment not settled',
    summary: `This refund has waited for a week, because its payment has not settled at ${processor}. ${lastAnswer(facts)}`,
    advice: `Check the payment in ${processor}. The refund is sent once it settles. Cancel it if the payment is refunded in another way.`,
  }),
  amount_differs: (facts, processor) => ({
    title: 'Amount differs',
    summary: `${processor} shows ${facts.externalRefundId} with ${theirAmount(facts)}, but ${inMoney(facts.expectedAmount, facts.expectedCurrency)} was requested.`,
    advice: `Settle the difference with the customer or ${processor}, then resolve it.`,
  }),
  missing_there: (facts, processor) => ({
    title: 'Missing at the processor',
    summary: `${capitalized(facts.status)} here, but ${processor} does not have ${facts.externalRefundId}.`,
    advice: `Check that the credentials still belong to the same ${processor} account, then recheck. The amount stays reserved.`,
  }),
  moved_after_end: (facts, processor) => ({
    title: 'Paid at the processor after it ended here',
    summary:
      `Marked ${facts.status} here, but ${processor} shows ${facts.externalRefundId} as ${facts.processorStatus}. ` +
      `The customer may have received ${theirAmount(facts)}.`,
    advice: `Do not refund it again until you know whether the customer has the money. Recheck after fixing it in ${processor}, or dismiss.`,
  }),
  reversed_there: (facts, processor) => ({
    title: 'Reversed at the processor',
    summary: `Marked completed here, but ${processor} shows ${facts.externalRefundId} as ${facts.processorStatus}.`,
    advice: `Check whether the customer has the money. Recheck after fixing it in ${processor}, or dismiss.`,
  }),
  extra_refund: (facts, processor) => ({
    title: 'Second refund',
    summary:
      `${processor} has a second refund for this one: ${facts.externalRefundId}, ${theirAmount(facts)}, ` +
      `${facts.processorStatus}. The customer may be paid twice.`,
    advice:
      facts.status === 'pending'
        ? 'Find out who made it. Then reject this refund, or dismiss the flag to pay both.'
        : 'Find out who made it and whether the customer was paid twice, then dismiss.',
  }),
  ended_there: (facts, processor) => ({
    title: 'Ended at the processor',
    summary: `Processing here, but ${processor} shows ${facts.externalRefundId} as ${facts.processorStatus}.`,
    advice: null,
  }),
  found_there: (facts, processor) => ({
    title: 'Found at the processor',
    summary: `Not confirmed here, but ${processor} shows ${facts.externalRefundId} as ${facts.processorStatus}.`,
    advice: null,
  }),
  not_on_record: (facts, processor) => ({
    title: 'Not on record',
    summary:
      `${processor} has refund ${facts.externalRefundId} of ${theirAmount(facts)} (${facts.processorStatus}), which is not on ` +
      'record and was probably made by this service.',
    advice: 'If the database was restored from a backup, run the recovery before anything is refunded again.',
  }),
  made_elsewhere: (facts, processor) => ({
    title: 'Made elsewhere',
    summary:
      `${processor} has refund ${facts.externalRefundId} of ${theirAmount(facts)} (${facts.processorStatus}), which was not ` +
      `made here. ${remaining(facts)}`,
    advice: null,
  }),
};

function lastAnswer({ message }: Facts): string {
  return message === undefined ? '' : `Last answer: ${message}`;
}

function theirAmount({ amount, currency }: Facts): string {
  return inMoney(amount, currency);
}

function remaining({ remaining: left, currency }: Facts): string {
  return left === undefined
    ? 'Its payment cannot be found there.'
    : `${inMoney(left, currency)} can still be refunded.`;
}

function inMoney(amount: number | undefined, currency: string | undefined): string {
  return amount === undefined || currency === undefined || !isCurrency(currency)
    ? 'an unknown amount'
    : formatAmount(BigInt(amount), currency);
}

function capitalized(text = 'accepted'): string {
  return `${text.charAt(0).toUpperCase()}${text.slice(1)}`;
}
