import { formatAmount } from '../money/money.ts';
import type { Balance, Cap, RefundWindow } from './balance.ts';
import { askForException, countOf, limitReason } from './explain.ts';
import {
  type DenialCode,
  denialCodes,
  type Policy,
  type PolicyFacts,
  type PolicyVerdict,
  type Velocity,
} from './policy.ts';

type Denial = Pick<PolicyVerdict, 'reason' | 'maxAmount' | 'deadline'>;

/** What the rules of a policy decide by. */
export interface RuledRefund {
  /** The first policy that matches; null when none does. */
  policy: Policy | null;
  facts: PolicyFacts;
  balance: Balance;
  window: RefundWindow | null;
  cap: Cap;
}

interface Rule {
  name: string;
  /** A denial; null when the rule is met, undefined when the policy does not have it. */
  check: (refund: RuledRefund) => Denial | null | undefined;
}

/** By the codes of `denialCodes`, which have their order. */
export const denialRules: Readonly<Record<DenialCode, Rule>> = {
  fully_refunded: { name: 'not fully refunded', check: checkBalance },
  final_sale: { name: 'final sale', check: checkFinalSale },
  window: { name: 'refund window', check: checkWindow },
  per_payment: { name: 'refunds per payment', check: checkPerTransaction },
  per_day: {
    name: 'refunds in 24 hours',
    check: (each) => checkDay(each, 'perDay', each.facts.velocity, ''),
  },
  per_requester_day: {
    name: 'refunds per requester in 24 hours',
    check: (each) => checkDay(each, 'perRequesterDay', each.facts.requesterVelocity, ' per requester'),
  },
  amount: { name: 'amount', check: checkLimit },
};

/** The first rule that denies a refund, with its denial; null when none does. */
export function firstDenial(refund: RuledRefund): [DenialCode, Denial] | null {
  for (const code of denialCodes) {
    const denial = denialRules[code].check(refund);
    if (denial) return [code, denial];
  }
  return null;
}

function checkBalance({ balance, window }: RuledRefund): Denial | null {
  if (balance.remaining > 0n) return null;
  const deadline = window?.open ? window.deadline : null;
  const original = formatAmount(balance.original, balance.currency);
  const reason = `This payment of ${original} is already fully refunded, or its refunds are in progress. No further refund is needed.`;
  return { reason, maxAmount: 0n, deadline };
}

function checkFinalSale({ policy }: RuledRefund): Denial | undefined {
  if (policy === null || !policy.finalSale) return undefined;
  const reason = `This payment was a final sale under the policy "${policy.name}" and cannot be refunded. ${askForException}`;
  return { reason, maxAmount: null, deadline: null };
}

function checkWindow({ policy, window }: RuledRefund): Denial | null | undefined {
  if (policy === null || window === null) return undefined;
  if (window.open) return null;
  const days = countOf(policy.windowDays ?? 0, 'day');
  const reason = `The refund window of ${days} under the policy "${policy.name}" closed on ${window.deadline.toISOString()}. ${askForException}`;
  return { reason, maxAmount: null, deadline: null };
}

function checkPerTransaction({ policy, balance }: RuledRefund): Denial | null | undefined {
  const limit = policy?.velocity.perTransaction;
  if (policy === null || limit === undefined) return undefined;
  if (balance.refundCount < limit) return null;
  const reason = `The policy "${policy.name}" allows ${countOf(limit, 'refund')} of a payment, and this payment has reached that limit. ${askForException}`;
  return { reason, maxAmount: null, deadline: null };
}

function checkDay(
  { policy, balance, window }: RuledRefund,
  kind: 'perDay' | 'perRequesterDay',
  { refundsInLastDay, amountInLastDay }: Velocity,
  scope: string,
): Denial | null | undefined {
  const limit = policy?.velocity[kind];
  if (policy === null || limit === undefined) return undefined;
  const { count, amount } = limit;
  const reached: string[] = [];
  if (count !== undefined && refundsInLastDay >= count) reached.push(countOf(count, 'refund'));
  if (amount !== undefined && amountInLastDay >= amount) reached.push(formatAmount(amount, balance.currency));
  if (reached.length === 0) return null;
  const reason =
    `The policy "${policy.name}" allows ${reached.join(' and ')}${scope} in 24 hours, and this limit is reached. ` +
    'Try again when earlier refunds are more than 24 hours old.';
  return { reason, maxAmount: null, deadline: window?.deadline ?? null };
}

function checkLimit({ policy, balance, window, cap, facts }: RuledRefund): Denial | null {
  const { amount } = facts.request;
  if (cap.left > 0n && (amount === null || amount <= cap.left)) return null;
  const reason = limitReason(policy, amount, cap, balance);
  return { reason, maxAmount: cap.left, deadline: window?.deadline ?? null };
}
