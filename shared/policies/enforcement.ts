import { type Policy, policySchema } from './policy.ts';

/** The ways to request a refund for which an organization chooses whether denials block it. For agents they always do. */
export const blockable = ['api', 'dashboard'] as const;

export type Blockable = (typeof blockable)[number];

/** Whether a policy denies anything besides what is fully refunded. */
export function canDeny({ finalSale, windowDays, maxPercent, maxAmount, velocity }: Policy): boolean {
  const hasLimit = windowDays !== null || maxPercent !== null || maxAmount !== null;
  return finalSale || hasLimit || Object.values(velocity).some((limit) => limit !== undefined);
}

/** Whether some policy denies refunds by API or in the dashboard, and none blocks them. */
export function blocksNothing(policies: readonly Policy[]): boolean {
  const denying = policies.filter(canDeny);
  return denying.length > 0 && denying.every(({ enforce }) => !enforce.api && !enforce.dashboard);
}

/** The policies as a file, with the denials of one of them binding; null without a policy of this name. */
export function fileWithBlocking(
  policies: readonly Policy[],
  name: string,
  initiator: Blockable,
): object | null {
  if (!policies.some((policy) => policy.name === name)) return null;
  const changed = policies.map((policy) =>
    policy.name === name ? { ...policy, enforce: { ...policy.enforce, [initiator]: true } } : policy,
  );
  return { policies: changed.map((policy) => policySchema.encode(policy)) };
}
