import { formatAmount } from '../money/money.ts';
import type { InitiatedBy } from '../refunds/model/reasons.ts';
import {
  type Balance,
  balanceOf,
  type Cap,
  limitsOf,
  lowestCap,
  type RefundWindow,
  windowOf,
} from './balance.ts';
import {
  allowedReason,
  balanceConditions,
  countOf,
  finalSaleReason,
  fullyRefundedReason,
  limitReason,
  perDayReason,
  perTransactionReason,
  policyConditions,
  windowReason,
} from './explain.ts';
import { inOrder, type Policy, type PolicyFacts, type PolicyVerdict } from './policy.ts';

type Denial = Pick<PolicyVerdict, 'reason' | 'maxAmount' | 'deadline'>;

interface Evaluation {
  /** The first policy that matches; null when none does. */
  policy: Policy | null;
  facts: PolicyFacts;
  balance: Balance;
  window: RefundWindow | null;
  cap: Cap;
  /** Refunds of more than this require approval; null when none do. */
  approvalAbove: bigint | null;
}

/**
 * Decides about a refund by the first matching policy, ordered by priority, then name. If none matches, the remaining
 * amount of the payment can be refunded. Pure: the same facts give the same verdict.
 * @throws RangeError when the transaction's currency is not in ISO 4217.
 */
export function evaluatePolicies(policies: readonly Policy[], facts: PolicyFacts): PolicyVerdict {
  const evaluation = evaluationOf(policies, facts);
  const { policy, balance, window, cap, approvalAbove } = evaluation;
  const approvalRequired = requiresApproval(evaluation);
  const denial = firstDenial(evaluation);
  const enforced = isEnforced(policy, facts.request.initiatedBy);
  const deadline = window?.deadline ?? null;
  const decision = denial ?? {
    reason: allowedReason(facts.request.amount, cap.left, balance, deadline, approvalRequired),
    maxAmount: cap.left,
    deadline,
  };
  // A denial that names an amount shows how it was computed; otherwise the balance matters once something was refunded.
  const showBalance = balance.taken > 0n || (denial !== null && denial.maxAmount !== null);
  return {
    eligible: denial === null,
    ...decision,
    conditions: [
      ...(showBalance ? balanceConditions(balance) : []),
      ...(policy === null ? [] : policyConditions(policy, balance, window, approvalAbove)),
    ],
    policyName: policy?.name ?? null,
    enforced,
    approvalRequired,
    limits: policy !== null && enforced ? limitsOf(policy, balance) : null,
  };
}

/**
 * The steps that `evaluatePolicies` takes for the same input, one line each: the policies checked until one matched, the
 * approval threshold, and the rules up to the first denial.
 */
export function tracePolicies(policies: readonly Policy[], facts: PolicyFacts): string[] {
  const lines: string[] = [];
  for (const policy of inOrder(policies)) {
    const mismatch = mismatchOf(policy, facts);
    const result = mismatch === null ? 'matches' : `does not match (${mismatch})`;
    lines.push(`policy "${policy.name}" with priority ${policy.priority}: ${result}`);
    if (mismatch === null) break;
  }
  const evaluation = evaluationOf(policies, facts);
  if (evaluation.approvalAbove !== null) {
    const above = formatAmount(evaluation.approvalAbove, evaluation.balance.currency);
    lines.push(`approval above ${above}: ${requiresApproval(evaluation) ? 'required' : 'not required'}`);
  }
  for (const { name, check } of rules) {
    const denial = check(evaluation);
    if (denial === undefined) continue;
    lines.push(`${name}: ${denial === null ? 'passed' : 'denied'}`);
    if (denial !== null) break;
  }
  return lines;
}

/** The verdict on a payment that no processor account knows. */
export function unknownTransaction(transactionId: string, initiatedBy: InitiatedBy): PolicyVerdict {
  const reason =
    `The transaction ${transactionId} was not found at any processor account of this environment. ` +
    'Check the id, and that the API key belongs to the environment in which the payment was made.';
  return ineligible(reason, initiatedBy);
}

/** The verdict on a payment that no policy can make refundable, such as one that was charged back. */
export function ineligible(reason: string, initiatedBy: InitiatedBy): PolicyVerdict {
  return {
    eligible: false,
    reason,
    maxAmount: null,
    deadline: null,
    conditions: [],
    policyName: null,
    enforced: isEnforced(null, initiatedBy),
    approvalRequired: false,
    limits: null,
  };
}

function evaluationOf(policies: readonly Policy[], facts: PolicyFacts): Evaluation {
  const policy = inOrder(policies).find((each) => mismatchOf(each, facts) === null) ?? null;
  const balance = balanceOf(facts);
  return {
    policy,
    facts,
    balance,
    window: windowOf(policy, facts),
    cap: lowestCap(policy, facts, balance),
    approvalAbove: policy?.approvalAbove[facts.request.initiatedBy] ?? null,
  };
}

function isEnforced(policy: Policy | null, initiatedBy: InitiatedBy): boolean {
  return initiatedBy === 'mcp' || (policy?.enforce[initiatedBy] ?? false);
}

/** The first criterion that the facts do not meet. A request without an amount meets every range of amounts. */
function mismatchOf({ match }: Policy, { transaction, request }: PolicyFacts): keyof Policy['match'] | null {
  if (match.processors?.includes(transaction.processor) === false) return 'processors';
  if (match.currencies?.includes(transaction.currency) === false) return 'currencies';
  if (match.reasons && (request.reason === null || !match.reasons.includes(request.reason))) return 'reasons';
  if (match.amount && request.amount !== null) {
    const { min = request.amount, max = request.amount } = match.amount;
    if (request.amount < min || request.amount > max) return 'amount';
  }
  const metadata = request.metadata ?? {};
  const required = Object.entries(match.metadata ?? {});
  return required.every(([key, value]) => metadata[key] === value) ? null : 'metadata';
}

/** Without an amount, approval is certain only when even the smallest refund requires it. */
function requiresApproval({ approvalAbove, facts }: Evaluation): boolean {
  return approvalAbove !== null && (facts.request.amount ?? 1n) > approvalAbove;
}

interface Rule {
  name: string;
  /** A denial; null when the rule is met, undefined when the policy does not have it. */
  check: (evaluation: Evaluation) => Denial | null | undefined;
}

// In the order in which they are checked: denials that stay come before those that time may lift.
const rules: readonly Rule[] = [
  { name: 'not fully refunded', check: checkBalance },
  { name: 'final sale', check: checkFinalSale },
  { name: 'refund window', check: checkWindow },
  { name: 'refunds per payment', check: checkPerTransaction },
  { name: 'refunds in 24 hours', check: checkPerDay },
  { name: 'amount', check: checkLimit },
];

function firstDenial(evaluation: Evaluation): Denial | null {
  for (const { check } of rules) {
    const denial = check(evaluation);
    if (denial) return denial;
  }
  return null;
}

function checkBalance({ balance, window }: Evaluation): Denial | null {
  if (balance.remaining > 0n) return null;
  const deadline = window?.open ? window.deadline : null;
  return { reason: fullyRefundedReason(balance), maxAmount: 0n, deadline };
}

function checkFinalSale({ policy }: Evaluation): Denial | undefined {
  if (policy === null || !policy.finalSale) return undefined;
  return { reason: finalSaleReason(policy), maxAmount: null, deadline: null };
}

function checkWindow({ policy, window }: Evaluation): Denial | null | undefined {
  if (policy === null || window === null) return undefined;
  if (window.open) return null;
  return { reason: windowReason(policy, window.deadline), maxAmount: null, deadline: null };
}

function checkPerTransaction({ policy, balance }: Evaluation): Denial | null | undefined {
  const limit = policy?.velocity.perTransaction;
  if (policy === null || limit === undefined) return undefined;
  if (balance.refundCount < limit) return null;
  return { reason: perTransactionReason(policy, limit), maxAmount: null, deadline: null };
}

function checkPerDay({ policy, balance, window, facts }: Evaluation): Denial | null | undefined {
  const perDay = policy?.velocity.perDay;
  if (policy === null || perDay === undefined) return undefined;
  const { refundsInLastDay, amountInLastDay } = facts.velocity;
  const { count, amount } = perDay;
  const reached: string[] = [];
  if (count !== undefined && refundsInLastDay >= count) reached.push(countOf(count, 'refund'));
  if (amount !== undefined && amountInLastDay >= amount) reached.push(formatAmount(amount, balance.currency));
  if (reached.length === 0) return null;
  const reason = perDayReason(policy, reached.join(' and '));
  return { reason, maxAmount: null, deadline: window?.deadline ?? null };
}

function checkLimit({ policy, balance, window, cap, facts }: Evaluation): Denial | null {
  const { amount } = facts.request;
  if (cap.left > 0n && (amount === null || amount <= cap.left)) return null;
  const reason = limitReason(policy, amount, cap, balance);
  return { reason, maxAmount: cap.left, deadline: window?.deadline ?? null };
}
