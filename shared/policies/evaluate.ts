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
import { inOrder, type Policy, type PolicyFacts, type PolicyVerdict, type TraceStep } from './policy.ts';

type Denial = Pick<PolicyVerdict, 'reason' | 'maxAmount' | 'deadline'>;

interface Evaluation {
  policy: Policy | null;
  facts: PolicyFacts;
  balance: Balance;
  window: RefundWindow | null;
  cap: Cap;
}

/**
 * Decides about a refund by the first policy, in order of priority and then of name, that matches. Without such a
 * policy, whatever remains of the payment can be refunded. Pure: the same facts give the same verdict.
 * @throws RangeError when the transaction's currency is not in ISO 4217.
 */
export function evaluatePolicies(policies: readonly Policy[], facts: PolicyFacts): PolicyVerdict {
  const trace: TraceStep[] = [];
  const policy = firstMatch(policies, facts, trace);
  const balance = balanceOf(facts);
  const window = windowOf(policy, facts);
  const evaluation = { policy, facts, balance, window, cap: lowestCap(policy, facts, balance) };
  const approvalAbove = policy?.approvalAbove[facts.request.initiatedBy] ?? null;
  const approvalRequired = needsApproval(approvalAbove, evaluation, trace);
  const denial = firstDenial(evaluation, trace);
  const { cap } = evaluation;
  const enforced = isEnforced(policy, facts.request.initiatedBy);
  const deadline = window?.deadline ?? null;
  const decision = denial ?? {
    reason: allowedReason(facts.request.amount, cap.left, balance, deadline, approvalRequired),
    maxAmount: cap.left,
    deadline,
  };
  // A denial that names an amount owes its arithmetic; otherwise it matters once something was taken.
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
    trace,
  };
}

/** The verdict about a payment that no processor account knows. */
export function unknownTransaction(transactionId: string, initiatedBy: InitiatedBy): PolicyVerdict {
  const reason =
    `The transaction ${transactionId} was not found at any processor account of this environment. ` +
    'Check the id, and that the API key is of the environment the payment was made in.';
  return ineligible(reason, { transactionId }, initiatedBy);
}

/** The verdict about a payment of which its processor refunds nothing, such as one that was charged back. */
export function unrefundableTransaction(
  transactionId: string,
  { code, message }: { code: string; message: string },
  initiatedBy: InitiatedBy,
): PolicyVerdict {
  return ineligible(message, { transactionId, failure: code }, initiatedBy);
}

/** A verdict that no policy was asked for. */
function ineligible(reason: string, facts: TraceStep['facts'], initiatedBy: InitiatedBy): PolicyVerdict {
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
    trace: [{ rule: 'transaction', facts, outcome: 'denied' }],
  };
}

function isEnforced(policy: Policy | null, initiatedBy: InitiatedBy): boolean {
  return initiatedBy === 'mcp' || (policy?.enforce[initiatedBy] ?? false);
}

function firstMatch(policies: readonly Policy[], facts: PolicyFacts, trace: TraceStep[]): Policy | null {
  for (const policy of inOrder(policies)) {
    const mismatch = mismatchOf(policy, facts);
    trace.push({
      rule: 'match',
      facts: { policy: policy.name, priority: policy.priority, mismatch },
      outcome: mismatch === null ? 'matched' : 'notMatched',
    });
    if (mismatch === null) return policy;
  }
  return null;
}

/** The first criterion that the facts do not meet. What a request leaves out cannot meet one, except an amount. */
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

function needsApproval(
  threshold: bigint | null,
  { facts, balance }: Evaluation,
  trace: TraceStep[],
): boolean {
  if (threshold === null) return false;
  const { amount, initiatedBy } = facts.request;
  // Without an amount, approval is certain only when even the smallest refund would need it.
  const required = (amount ?? 1n) > threshold;
  trace.push({
    rule: 'approval',
    facts: { initiatedBy, above: formatAmount(threshold, balance.currency) },
    outcome: required ? 'required' : 'notRequired',
  });
  return required;
}

type Check = Pick<TraceStep, 'rule' | 'facts'> & { denial: Denial | null };

/** Asks the rules in turn, up to the first that denies. What cannot change comes before what time may heal. */
function firstDenial(evaluation: Evaluation, trace: TraceStep[]): Denial | null {
  const checks = [checkBalance, checkFinalSale, checkWindow, checkPerTransaction, checkPerDay, checkLimit];
  for (const check of checks) {
    const result = check(evaluation);
    if (result === null) continue;
    const { rule, facts, denial } = result;
    trace.push({ rule, facts, outcome: denial === null ? 'passed' : 'denied' });
    if (denial !== null) return denial;
  }
  return null;
}

function checkBalance({ balance, window }: Evaluation): Check {
  const { original, taken, remaining, currency } = balance;
  const deadline = window?.open ? window.deadline : null;
  return {
    rule: 'fullyRefunded',
    facts: {
      original: formatAmount(original, currency),
      taken: formatAmount(taken, currency),
      remaining: formatAmount(remaining, currency),
    },
    denial: remaining > 0n ? null : { reason: fullyRefundedReason(balance), maxAmount: 0n, deadline },
  };
}

function checkFinalSale({ policy }: Evaluation): Check | null {
  if (policy === null || !policy.finalSale) return null;
  const denial = { reason: finalSaleReason(policy), maxAmount: null, deadline: null };
  return { rule: 'finalSale', facts: { finalSale: true }, denial };
}

function checkWindow({ policy, window, facts }: Evaluation): Check | null {
  if (policy === null || window === null) return null;
  const { deadline, open } = window;
  return {
    rule: 'window',
    facts: {
      chargedAt: facts.transaction.chargedAt.toISOString(),
      windowDays: policy.windowDays,
      deadline: deadline.toISOString(),
      now: facts.now.toISOString(),
    },
    denial: open ? null : { reason: windowReason(policy, deadline), maxAmount: null, deadline: null },
  };
}

function checkPerTransaction({ policy, balance }: Evaluation): Check | null {
  const limit = policy?.velocity.perTransaction;
  if (policy === null || limit === undefined) return null;
  const reached = balance.refundCount >= limit;
  return {
    rule: 'perTransaction',
    facts: { refunds: balance.refundCount, limit },
    denial: reached ? { reason: perTransactionReason(policy, limit), maxAmount: null, deadline: null } : null,
  };
}

function checkPerDay({ policy, balance, window, facts }: Evaluation): Check | null {
  const perDay = policy?.velocity.perDay;
  if (policy === null || perDay === undefined) return null;
  const { refundsInLastDay, amountInLastDay } = facts.velocity;
  const { count, amount } = perDay;
  const limits: string[] = [];
  if (count !== undefined && refundsInLastDay >= count) limits.push(countOf(count, 'refund'));
  if (amount !== undefined && amountInLastDay >= amount) limits.push(formatAmount(amount, balance.currency));
  return {
    rule: 'perDay',
    facts: {
      refunds: refundsInLastDay,
      limit: count ?? null,
      amount: formatAmount(amountInLastDay, balance.currency),
      amountLimit: amount === undefined ? null : formatAmount(amount, balance.currency),
    },
    denial:
      limits.length === 0
        ? null
        : {
            reason: perDayReason(policy, limits.join(' and ')),
            maxAmount: null,
            deadline: window?.deadline ?? null,
          },
  };
}

function checkLimit({ policy, balance, window, cap, facts }: Evaluation): Check {
  const { amount } = facts.request;
  const denied = cap.left === 0n || (amount !== null && amount > cap.left);
  return {
    rule: 'limit',
    facts: {
      requested: amount === null ? null : formatAmount(amount, balance.currency),
      maximum: formatAmount(cap.left, balance.currency),
      bound: cap.kind,
    },
    denial: denied
      ? {
          reason: limitReason(policy, amount, cap, balance),
          maxAmount: cap.left,
          deadline: window?.deadline ?? null,
        }
      : null,
  };
}
