import type { PolicyInput } from '#shared/policies/policy.ts';
import { setPolicies } from '#shared/policies/stored-policies.ts';
import type { TestService } from '../service.ts';

/** Replaces the policies of a service's organization. The first one that matches a refund applies. */
export async function storePolicies(
  { deps, organization }: TestService,
  ...policies: Partial<PolicyInput>[]
): Promise<void> {
  const file = {
    policies: policies.map((policy, index) => ({ name: `Policy ${index}`, priority: index, ...policy })),
  };
  await setPolicies(deps, { organizationId: organization.id, file, actor: 'test' });
}
