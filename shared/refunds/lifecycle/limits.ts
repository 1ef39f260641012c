import type { AgentLimits } from '../../organizations/agent-limits.ts';
import { type AgentVerdict, evaluateAgentLimits } from '../../organizations/evaluate-agent-limits.ts';
import { type KnownPayment, remainingOf } from '../../payments/payment.ts';
import type { ApiKey } from '../../platform/database.ts';
import { leftOf, lowestOf, withinBoth } from '../../policies/balance.ts';
import type { PolicyLimits, PolicyVerdict } from '../../policies/policy.ts';
import type { PolicyRequest } from '../../policies/policy-facts.ts';

/** Limits to check when a refund is recorded. */
export interface RecordedLimits extends PolicyLimits {
  keyDay?: CountedKey;
}

/** An agent's key whose refunds of 24 hours are limited. */
export interface CountedKey {
  apiKeyId: string;
  currency: string;
  maxPerDay: bigint;
}

/** The key whose refunds of a day are limited; null for none. */
export function countedKey(apiKey: Pick<ApiKey, 'id'> | null, limits: AgentLimits | null): CountedKey | null {
  if (apiKey === null || limits?.maxPerDay === undefined) return null;
  return { apiKeyId: apiKey.id, currency: limits.currency, maxPerDay: limits.maxPerDay };
}

/** What the limits of the requesting key say; null for a key without limits. */
export function askAgentLimits(
  limits: AgentLimits | null,
  {
    request: { amount, reason },
    payment,
    verdict,
    takenByKeyInLastDay,
  }: {
    request: Pick<PolicyRequest, 'amount' | 'reason'>;
    payment: KnownPayment;
    verdict: PolicyVerdict;
    takenByKeyInLastDay: bigint;
  },
): AgentVerdict | null {
  if (limits === null) return null;
  return evaluateAgentLimits(limits, {
    ...{ amount, reason, currency: payment.currency },
    taken: payment.reserved + payment.refundedOutside,
    takenInLastDay: takenByKeyInLastDay,
    available: availableOf(payment, verdict),
  });
}

/** What a payment and the policies leave for a refund, in minor units. */
export function availableOf(payment: KnownPayment, { enforced, maxAmount }: PolicyVerdict): bigint {
  const remaining = remainingOf(payment) ?? 0n;
  return leftOf(lowestOf(enforced ? [remaining, maxAmount ?? 0n] : [remaining]) ?? 0n, 0n);
}

/** What has to hold when the refund is recorded; null when concurrent refunds cannot change the decision. */
export function limitsOf(
  { limits }: PolicyVerdict,
  agent: AgentVerdict | null,
  counted: CountedKey | null,
): RecordedLimits | null {
  if (agent === null) return limits;
  const bounds = withinBoth(limits ?? {}, agent.bounds);
  return { ...limits, ...bounds, ...(counted === null ? {} : { keyDay: counted }) };
}
