import { type AgentLimits, agentConditions, evaluateAgentLimits } from './agent-limits.ts';
import { balanceOf } from './balance.ts';
import { withinAll } from './bounds.ts';
import { evaluatePolicies, tracePolicies } from './evaluate.ts';
import { allowedReason } from './explain.ts';
import type { Policy, PolicyFacts, PolicyVerdict } from './policy.ts';

/** What binds a requester. */
export interface Rules {
  /** The policies of the organization. */
  policies: readonly Policy[];
  /** The limits of the agent's key that requests; null for every other requester. */
  agentLimits: AgentLimits | null;
}

/** The input of a decision. */
export interface RefundFacts extends PolicyFacts {
  /** What the key's refunds of the last 24 hours come to in the currency of its limits; 0n without a limit of a day. */
  keyAmountInLastDay: bigint;
}

/** The decision on a refund by the policies and the limits of the key together. */
export interface Verdict extends PolicyVerdict {
  /** Why no refund is created, in words; null when it is, also when a policy denies it that does not block. */
  refusal: string | null;
  /** Whether the limits of the key deny the refund, whatever the policies say. */
  isDeniedByKey: boolean;
  /** The most that can be refunded now: what the payment leaves, the policies where they are enforced, and the key. */
  available: bigint;
}

/**
 * Decides about a refund. Creations, dry runs, policy checks and replays differ in where they get the facts from, and in what they
 * do with the verdict. Pure: the same facts give the same verdict.
 * @throws RangeError when the transaction's currency is not in ISO 4217.
 */
export function evaluateRefund({ policies, agentLimits }: Rules, facts: RefundFacts): Verdict {
  const verdict = evaluatePolicies(policies, facts);
  const { eligible, enforced, reason, maxAmount } = verdict;
  const { currency, remaining, taken } = balanceOf(facts);
  const available = enforced ? (maxAmount ?? 0n) : remaining;
  const denial = enforced && !eligible ? reason : null;
  if (agentLimits === null) return { ...verdict, refusal: denial, isDeniedByKey: false, available };
  const { amount, reason: requestReason } = facts.request;
  const key = evaluateAgentLimits(agentLimits, {
    ...{ amount, reason: requestReason, currency, taken, available },
    takenInLastDay: facts.keyAmountInLastDay,
  });
  // No smaller amount and no other reason helps against a policy that leaves nothing.
  const refusal = denial !== null && available === 0n ? denial : (key.denial ?? denial);
  const approvalRequired = verdict.approvalRequired || key.approvalRequired;
  return {
    ...verdict,
    eligible: refusal === null,
    reason: refusal ?? allowedReason(amount, key.left, agentLimits, verdict.deadline, approvalRequired),
    maxAmount: maxAmount === null ? null : key.left,
    conditions: [...verdict.conditions, ...agentConditions(agentLimits)],
    approvalRequired,
    exceeded: [...verdict.exceeded, ...key.exceeded],
    bounds: withinAll([verdict.bounds, key.bounds]),
    ...{ refusal, isDeniedByKey: key.denial !== null, available: key.left },
  };
}

/** The steps that `evaluateRefund` takes for the same input, one line each. */
export function traceRefund({ policies, agentLimits }: Rules, facts: RefundFacts): string[] {
  return [...tracePolicies(policies, facts), ...(agentLimits === null ? [] : agentConditions(agentLimits))];
}
