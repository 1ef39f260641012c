import { createHash } from 'node:crypto';
import { inOrder, type Policy, policyFileSchema } from './policy.ts';

/**
 * A fingerprint of an organization's policies as they are on record: the same as long as they are, and another one once any
 * of them is changed, added or removed. Whoever changes policies says with it which ones he started from.
 */
export function digestPolicies(policies: readonly Policy[]): string {
  const written = JSON.stringify(policyFileSchema.encode({ policies: inOrder(policies) }));
  return createHash('sha256').update(written).digest('base64url');
}
