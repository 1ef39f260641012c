import { formatAmount } from '../money/money.ts';
import type { Refund } from '../platform/database.ts';
import type { ListedRefund, ProcessorRefund } from '../processors/contract/processor.ts';
import { isTerminal } from '../refunds/model/states.ts';

type Ours = Pick<Refund, 'id' | 'processor' | 'externalRefundId' | 'amount' | 'currency' | 'status'>;

export function endedSentence(ours: Ours, theirs: ProcessorRefund): string {
  return `${inOurs(ours)} and ${inTheirs(ours, theirs)}. A worker reads it again and records how it ended; nothing to do.`;
}

export function reversedSentence(ours: Ours, theirs: ProcessorRefund): string {
  return (
    `${inOurs(ours)} and ${inTheirs(ours, theirs)}: the money came back. A worker reads it again and records it as ` +
    'failed; refund the customer again if that is still due.'
  );
}

export function foundSentence(ours: Ours, theirs: ProcessorRefund): string {
  return (
    `${inOurs(ours)}, without the processor's word, and ${inTheirs(ours, theirs)}. A worker looks it up and goes on ` +
    'with it; nothing is sent before that, and nothing to do.'
  );
}

export function missingSentence(ours: Ours): string {
  return (
    `${inOurs(ours)} as ${ours.externalRefundId}, which ${ours.processor} does not have. Its amount stays reserved. ` +
    `Look for it in ${ours.processor}'s dashboard, and check that the account's credentials are still those of the same ` +
    `account. ${lookAt(ours)}`
  );
}

export function amountSentence(ours: Ours, theirs: ProcessorRefund): string {
  return (
    `${inOurs(ours)} and ${inTheirs(ours, theirs)}: the amounts differ. Settle the difference with the customer or ` +
    `with ${ours.processor}. ${lookAt(ours)}`
  );
}

export function movedSentence(ours: Ours, theirs: ProcessorRefund): string {
  return (
    `${inOurs(ours)} and ${inTheirs(ours, theirs)}: the customer has the money, or may get it yet. It counts as refunded ` +
    `elsewhere. Check whether it was also paid in another way, before anything is refunded again. ${lookAt(ours)}`
  );
}

export function extraSentence(ours: Ours, theirs: ProcessorRefund): string {
  const known =
    ours.status === 'pending' ? 'It has never been sent' : `It is on record as ${ours.externalRefundId}`;
  const advice =
    ours.status === 'pending'
      ? `Reject it, unless the customer is to get the money twice: npm run -s admin -- refund reject ${ours.id} --reason '...'`
      : `Find out who made the other one, and whether the customer has the money twice. ${lookAt(ours, true)}`;
  return `${inOurs(ours)} and ${inTheirs(ours, theirs)} under its name. ${known}. ${advice}`;
}

/** @param left what can still be refunded, for people; null when the processor no longer has the payment. */
export function elsewhereSentence(processor: string, theirs: ListedRefund, left: string | null): string {
  const what =
    `${processor} has refund ${theirs.id} of ${formatAmount(theirs.amount, theirs.currency)} (${theirs.processorStatus}) ` +
    `of payment ${theirs.transactionIds.join(' / ')}, which was not made here.`;
  if (left === null) {
    return `${what} The payment itself cannot be found there: check that the account's credentials are the right ones.`;
  }
  return `${what} The payment was read again: ${left} can still be refunded. Nothing to do, unless nobody knows of it.`;
}

/** @param first one of them, so that a person has where to begin. */
export function unrecordedSentence(processor: string, count: number, first: ListedRefund): string {
  const them = count === 1 ? 'one refund of a payment that is' : `${count} refunds of payments that are`;
  return (
    `${processor} has ${them} not on record here, such as ${first.id} of payment ${first.transactionIds.join(' / ')}. ` +
    'Nothing to do: a payment is read when a refund of it is first asked for, with all that was refunded before.'
  );
}

function inOurs({ id, amount, currency, status }: Ours): string {
  return `${id} of ${formatAmount(amount, currency)} is ${status} here`;
}

function inTheirs({ processor }: Ours, { id, amount, currency, processorStatus }: ProcessorRefund): string {
  return `${processor} has ${id} of ${formatAmount(amount, currency)} as ${processorStatus}`;
}

/** The command that ends it takes a decision and a reason; `...` is for the person to fill in. */
function lookAt({ id, status }: Ours, mayBeKept = isTerminal(status)): string {
  const decision = mayBeKept ? '--keep' : '--as ...';
  return (
    `Look at it with: npm run -s admin -- refund show ${id}, and end it with: ` +
    `npm run -s admin -- refund resolve ${id} ${decision} --reason '...'`
  );
}
