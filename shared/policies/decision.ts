import { z } from 'zod';
import { minorUnits } from '../money/amount-schemas.ts';
import { formatAmount } from '../money/money.ts';
import { type DenialCode, denialCodes, type PolicyVerdict } from './policy.ts';

/** What the policies and the limits of the key said of a refund when it was created. Its first event keeps it as its detail. */
const storedDecisionSchema = z.object({
  /** The name of the policy that decided, as it was then; absent when none matched or the payment was not known yet. */
  policy: z.string().optional(),
  /** The rule of that policy that denies the refund, without blocking it. */
  deniedBy: z.enum(denialCodes).optional(),
  /** The thresholds that the refund exceeded, in minor units of its currency. */
  approval: z
    .array(
      z.object({
        of: z.enum(['payment', 'requester', 'key']),
        above: minorUnits(0),
        total: minorUnits(0),
      }),
    )
    .optional(),
});

export type StoredDecision = z.output<typeof storedDecisionSchema>;

/** The detail of the first event of a refund. */
export function detailOfDecision(verdict: PolicyVerdict | null): object {
  const approval = [...(verdict?.exceeded ?? [])];
  return storedDecisionSchema.encode({
    ...(verdict?.policyName == null ? {} : { policy: verdict.policyName }),
    ...(verdict?.deniedBy == null ? {} : { deniedBy: verdict.deniedBy }),
    ...(approval.length === 0 ? {} : { approval }),
  });
}

/** Reads the detail of the first event of a refund. Refunds from before decisions were kept have an empty one. */
export function readDecision(detail: unknown): StoredDecision {
  const read = storedDecisionSchema.safeParse(detail);
  return read.success ? read.data : {};
}

export const policyDecisions = ['allowed', 'approval_required', 'not_blocked'] as const;

/** What a policy said of a refund that was created. */
interface PolicyDecision {
  name: string;
  /** `not_blocked`: the policy denies the refund, but blocks none that is requested this way. */
  decision: (typeof policyDecisions)[number];
}

/** The policy that decided about a refund; null for none, and when it was not kept. */
export function policyDecisionOf({ policy, deniedBy, approval = [] }: StoredDecision): PolicyDecision | null {
  if (policy === undefined) return null;
  if (deniedBy !== undefined) return { name: policy, decision: 'not_blocked' };
  const isAsked = approval.some(({ of }) => of !== 'key');
  return { name: policy, decision: isAsked ? 'approval_required' : 'allowed' };
}

/** Why a refund awaits approval, a sentence for each threshold that it exceeded. */
export function approvalReasons({ policy, approval = [] }: StoredDecision, currency: string): string[] {
  return approval.map(({ of, above, total }) => {
    const by = of === 'key' ? 'The API key' : `The policy “${policy}”`;
    const refunds =
      of === 'requester' ? 'the refunds of a requester in 24 hours' : 'the refunds of a payment';
    if (above === 0n) return `${by} requires approval for every refund.`;
    const [threshold, reached] = [formatAmount(above, currency), formatAmount(total, currency)];
    return `${by} requires approval when ${refunds} come to more than ${threshold}. With this one they come to ${reached}.`;
  });
}

const denials: Readonly<Record<DenialCode, string>> = {
  fully_refunded: 'the payment is fully refunded',
  final_sale: 'it is a final sale',
  window: 'the refund window has closed',
  per_payment: 'the payment has as many refunds as it allows',
  per_day: 'the limit of refunds in 24 hours is reached',
  per_requester_day: 'the limit of refunds per requester in 24 hours is reached',
  amount: 'it is more than the policy leaves of the payment',
};

/** That a policy would have denied a refund, and why; null when it did not. */
export function denialReason({ policy, deniedBy }: StoredDecision): string | null {
  if (policy === undefined || deniedBy === undefined) return null;
  return `The policy “${policy}” denies this refund, because ${denials[deniedBy]}.`;
}
