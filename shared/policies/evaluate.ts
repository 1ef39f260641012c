import { formatAmount } from '../money/money.ts';
import type { InitiatedBy } from '../refund-request/reasons.ts';
import { balanceOf, limitsOf, lowestCap, windowOf } from './balance.ts';
import { type Bounds, lowestOf, rangeAround, withinAll } from './bounds.ts';
import { denialRules, firstDenial, type RuledRefund } from './denials.ts';
import { allowedReason, balanceConditions, holdCondition, holdInWords, policyConditions } from './explain.ts';
import {
  denialCodes,
  inOrder,
  type Policy,
  type PolicyFacts,
  type PolicyVerdict,
  type Threshold,
} from './policy.ts';

interface Evaluation extends RuledRefund {
  /** The policies up to the one that matches, in order; all of them when none does. */
  checked: readonly Policy[];
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
    bounds: boundsOf(evaluation, enforced),
  };
}

/** The limits of a policy that is enforced, and the totals between which the same policy decides and approval stays as it is. */
function boundsOf(
  { policy, balance, checked, thresholds, total }: Evaluation,
  enforced: boolean,
): Bounds | null {
  const steps = checked.flatMap(({ match: { amount } }) => [
    ...(amount?.min === undefined ? [] : [amount.min - 1n]),
    ...(amount?.max === undefined ? [] : [amount.max]),
  ]);
  const ofPayment = thresholds.filter(({ of }) => of === 'payment');
  // A refund that exceeds the threshold of its requester awaits approval, whatever the others come to.
  const kept = thresholds.filter((each) => each.of === 'requester' && !isExceeded(each));
  return withinAll([
    policy !== null && enforced ? limitsOf(policy, balance) : null,
    {
      payment: rangeAround([...steps, ...ofPayment.map(({ above }) => above)], total),
      requester: { maxAmount: lowestOf(kept.map(({ above }) => above)) },
    },
  ]);
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
    const { name, check } = denialRules[code];
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
    bounds: null,
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

/** True when it depends on what all refunds of a payment come to whether this requester is blocked or needs approval. */
export function decideByTotal(policies: readonly Policy[], requester: Requester): boolean {
  const binding = policies.filter((policy) => bindsRequester(policy, requester));
  const isCompared = ({ maxPercent, maxAmount, approvalAbove }: Policy) =>
    maxPercent !== null || maxAmount !== null || lowestThreshold(approvalAbove, requester) !== null;
  const isMatched = ({ match }: Policy) => match.amount !== undefined;
  return binding.some(isCompared) || (binding.length > 0 && policies.some(isMatched));
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

/** What is said of agents also applies to an agent's key that is used with the API. */
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
