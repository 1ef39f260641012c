import { formatAmount } from '../money/money.ts';
import type { InitiatedBy } from '../refunds/model/reasons.ts';
import {
  type Balance,
  balanceOf,
  boundsAround,
  type Cap,
  limitsOf,
  lowestCap,
  lowestOf,
  type RefundWindow,
  type TotalBounds,
  windowOf,
  withinBoth,
} from './balance.ts';
import {
  allowedReason,
  askForException,
  balanceConditions,
  countOf,
  holdCondition,
  holdInWords,
  limitReason,
  policyConditions,
} from './explain.ts';
import {
  type DenialCode,
  denialCodes,
  inOrder,
  type Policy,
  type PolicyFacts,
  type PolicyLimits,
  type PolicyVerdict,
  type Threshold,
  type Velocity,
} from './policy.ts';

type Denial = Pick<PolicyVerdict, 'reason' | 'maxAmount' | 'deadline'>;

interface Evaluation {
  /** The first policy that matches; null when none does. */
  policy: Policy | null;
  /** The policies up to this one, in order; all of them when none matches. */
  checked: readonly Policy[];
  facts: PolicyFacts;
  balance: Balance;
  window: RefundWindow | null;
  cap: Cap;
  /** The total of the payment's refunds, including this one; without an amount, including the smallest refund. */
  total: bigint;
  thresholds: readonly Threshold[];
}

/**
 * Decides about a refund by the first matching policy, ordered by priority, then name. If none matches, the remaining
 * amount of the payment can be refunded. Pure: the same facts give the same verdict.
 * @throws RangeError when the transaction's currency is not in ISO 4217.
 */
export function evaluatePolicies(policies: readonly Policy[], facts: PolicyFacts): PolicyVerdict {
  const evaluation = evaluationOf(policies, facts);
  const { policy, balance, window, cap, thresholds } = evaluation;
  // Without an amount, approval is certain only when even the smallest refund requires it.
  const exceeded = thresholds.filter(isExceeded);
  const approvalRequired = exceeded.length > 0;
  const [deniedBy, denial] = firstDenial(evaluation) ?? [null, null];
  const enforced = isEnforced(policy, facts.request);
  const deadline = window?.deadline ?? null;
  const holdSeconds = holdOf(policy, facts.request);
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
      ...(policy === null ? [] : policyConditions(policy, balance, window, thresholds)),
      ...(holdSeconds === 0 ? [] : [holdCondition(holdSeconds)]),
    ],
    policyName: policy?.name ?? null,
    enforced,
    approvalRequired,
    holdSeconds,
    deniedBy,
    exceeded,
    limits: limitsToRecord(evaluation, enforced),
  };
}

/** The limits of an enforced policy, and the totals between which the same policy decides and approval stays as it is. */
function limitsToRecord(evaluation: Evaluation, enforced: boolean): PolicyLimits | null {
  const { policy, balance } = evaluation;
  const limits = policy !== null && enforced ? limitsOf(policy, balance) : {};
  const all = {
    ...limits,
    ...withinBoth(limits, boundsOf(evaluation)),
    ...requesterBound(evaluation, limits),
  };
  return Object.values(all).every((limit) => limit === undefined) ? null : all;
}

function boundsOf({ checked, thresholds, total }: Evaluation): TotalBounds {
  const steps = checked.flatMap(({ match: { amount } }) => [
    ...(amount?.min === undefined ? [] : [amount.min - 1n]),
    ...(amount?.max === undefined ? [] : [amount.max]),
  ]);
  const ofPayment = thresholds.filter((threshold) => threshold.of === 'payment');
  return boundsAround([...steps, ...ofPayment.map(({ above }) => above)], total);
}

/** Without approval, the requester's refunds must not exceed the threshold. A refund with approval may await it in any case. */
function requesterBound(
  { thresholds }: Evaluation,
  { requesterDayAmount }: PolicyLimits,
): Pick<PolicyLimits, 'requesterDayAmount'> {
  const kept = thresholds.filter((threshold) => threshold.of === 'requester' && !isExceeded(threshold));
  return { requesterDayAmount: lowestOf([...kept.map(({ above }) => above), requesterDayAmount]) };
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
  for (const threshold of evaluation.thresholds) {
    const above = formatAmount(threshold.above, evaluation.balance.currency);
    const scope = threshold.of === 'payment' ? '' : ' per requester in 24 hours';
    const result = isExceeded(threshold) ? 'required' : 'not required';
    lines.push(`approval above a total of ${above}${scope}: ${result}`);
  }
  const holdSeconds = holdOf(evaluation.policy, facts.request);
  if (holdSeconds > 0) lines.push(`held before it is sent: ${holdInWords(holdSeconds)}`);
  for (const code of denialCodes) {
    const { name, check } = rules[code];
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
    `The payment ${transactionId} was not found at any processor account of this environment. ` +
    'Check the ID, and that the API key belongs to the environment in which the payment was made.';
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
    enforced: isEnforced(null, { initiatedBy }),
    approvalRequired: false,
    holdSeconds: 0,
    deniedBy: null,
    exceeded: [],
    limits: null,
  };
}

function evaluationOf(policies: readonly Policy[], facts: PolicyFacts): Evaluation {
  const ordered = inOrder(policies);
  const position = ordered.findIndex((each) => mismatchOf(each, facts) === null);
  const policy = ordered[position] ?? null;
  const balance = balanceOf(facts);
  return {
    policy,
    checked: policy === null ? ordered : ordered.slice(0, position + 1),
    facts,
    balance,
    window: windowOf(policy, facts),
    cap: lowestCap(policy, facts, balance),
    total: totalOf(facts),
    thresholds: policy === null ? [] : thresholdsOf(policy, facts),
  };
}

function thresholdsOf(policy: Policy, facts: PolicyFacts): Threshold[] {
  const { request, requesterVelocity } = facts;
  const ofPayment = lowestThreshold(policy.approvalAbove, request);
  const ofRequester = lowestThreshold(policy.approvalAbovePerRequesterDay, request);
  const requested = requesterVelocity.amountInLastDay + (request.amount ?? 1n);
  return [
    ...(ofPayment === null ? [] : [{ of: 'payment', above: ofPayment, total: totalOf(facts) } as const]),
    ...(ofRequester === null ? [] : [{ of: 'requester', above: ofRequester, total: requested } as const]),
  ];
}

function totalOf({ transaction, refunds, request }: PolicyFacts): bigint {
  return transaction.refundedOutside + refunds.amount + (request.amount ?? 1n);
}

/** True when the policy can block a refund of this requester or require approval for it. */
export function bindsRequester(policy: Policy, requester: Requester): boolean {
  return (
    isEnforced(policy, requester) ||
    lowestThreshold(policy.approvalAbove, requester) !== null ||
    lowestThreshold(policy.approvalAbovePerRequesterDay, requester) !== null
  );
}

/** True when the policy compares something with what the requester requested in 24 hours. */
export function countsRequester(
  { velocity, approvalAbovePerRequesterDay }: Policy,
  requester: Requester,
): boolean {
  return (
    velocity.perRequesterDay !== undefined ||
    lowestThreshold(approvalAbovePerRequesterDay, requester) !== null
  );
}

/** Agents are always bound: a denial never only advises them. */
function isEnforced(policy: Policy | null, { initiatedBy, hasAgentKey }: Requester): boolean {
  if (initiatedBy === 'mcp' || hasAgentKey === true) return true;
  return policy?.enforce[initiatedBy] ?? false;
}

/** How many seconds the policies may hold a refund of this requester, whichever of them matches. */
export function longestHold(policies: readonly Policy[], requester: Requester): number {
  return Math.max(0, ...policies.map((policy) => holdOf(policy, requester)));
}

function holdOf(policy: Policy | null, requester: Requester): number {
  return Math.max(0, ...initiatorsOf(requester).map((each) => policy?.holdSeconds?.[each] ?? 0));
}

function lowestThreshold(
  thresholds: Policy['approvalAbovePerRequesterDay'],
  requester: Requester,
): bigint | null {
  return lowestOf(initiatorsOf(requester).map((each) => thresholds?.[each] ?? undefined)) ?? null;
}

/** What is said of agents also holds for an agent's key that is used with the API. */
function initiatorsOf({ initiatedBy, hasAgentKey }: Requester): InitiatedBy[] {
  return hasAgentKey === true ? [initiatedBy, 'mcp'] : [initiatedBy];
}

type Requester = Pick<PolicyFacts['request'], 'initiatedBy' | 'hasAgentKey'>;

/** The first criterion that the facts do not meet. A request without an amount meets every range of amounts. */
function mismatchOf({ match }: Policy, facts: PolicyFacts): keyof Policy['match'] | null {
  const { transaction, request } = facts;
  if (match.processors?.includes(transaction.processor) === false) return 'processors';
  if (match.currencies?.includes(transaction.currency) === false) return 'currencies';
  if (match.reasons && (request.reason === null || !match.reasons.includes(request.reason))) return 'reasons';
  if (match.amount && request.amount !== null) {
    const total = totalOf(facts);
    const { min = total, max = total } = match.amount;
    if (total < min || total > max) return 'amount';
  }
  const metadata = request.metadata ?? {};
  const required = Object.entries(match.metadata ?? {});
  return required.every(([key, value]) => metadata[key] === value) ? null : 'metadata';
}

function isExceeded({ total, above }: Threshold): boolean {
  return total > above;
}

interface Rule {
  name: string;
  /** A denial; null when the rule is met, undefined when the policy does not have it. */
  check: (evaluation: Evaluation) => Denial | null | undefined;
}

const rules: Readonly<Record<DenialCode, Rule>> = {
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

function firstDenial(evaluation: Evaluation): [DenialCode, Denial] | null {
  for (const code of denialCodes) {
    const denial = rules[code].check(evaluation);
    if (denial) return [code, denial];
  }
  return null;
}

function checkBalance({ balance, window }: Evaluation): Denial | null {
  if (balance.remaining > 0n) return null;
  const deadline = window?.open ? window.deadline : null;
  const original = formatAmount(balance.original, balance.currency);
  const reason = `This payment of ${original} is already fully refunded, or its refunds are in progress. No further refund is needed.`;
  return { reason, maxAmount: 0n, deadline };
}

function checkFinalSale({ policy }: Evaluation): Denial | undefined {
  if (policy === null || !policy.finalSale) return undefined;
  const reason = `This payment was a final sale under the policy "${policy.name}" and cannot be refunded. ${askForException}`;
  return { reason, maxAmount: null, deadline: null };
}

function checkWindow({ policy, window }: Evaluation): Denial | null | undefined {
  if (policy === null || window === null) return undefined;
  if (window.open) return null;
  const days = countOf(policy.windowDays ?? 0, 'day');
  const reason = `The refund window of ${days} under the policy "${policy.name}" closed on ${window.deadline.toISOString()}. ${askForException}`;
  return { reason, maxAmount: null, deadline: null };
}

function checkPerTransaction({ policy, balance }: Evaluation): Denial | null | undefined {
  const limit = policy?.velocity.perTransaction;
  if (policy === null || limit === undefined) return undefined;
  if (balance.refundCount < limit) return null;
  const reason = `The policy "${policy.name}" allows ${countOf(limit, 'refund')} of a payment, and this payment has reached that limit. ${askForException}`;
  return { reason, maxAmount: null, deadline: null };
}

function checkDay(
  { policy, balance, window }: Evaluation,
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

function checkLimit({ policy, balance, window, cap, facts }: Evaluation): Denial | null {
  const { amount } = facts.request;
  if (cap.left > 0n && (amount === null || amount <= cap.left)) return null;
  const reason = limitReason(policy, amount, cap, balance);
  return { reason, maxAmount: cap.left, deadline: window?.deadline ?? null };
}
