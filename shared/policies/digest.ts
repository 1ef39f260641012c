import { createHash } from 'node:crypto';
import { canonicalJson } from '../platform/json.ts';
import { inOrder, type Policy, policyFileSchema } from './policy.ts';

/**
 * A fingerprint of an organization's policies: the same for the same policies, however they were written, and another one
 * once any of them is changed, added or removed. A form says with it which policies it was made from.
 */
export function digestPolicies(policies: readonly Policy[]): string {
  const written = canonicalJson(policyFileSchema.encode({ policies: inOrder(policies) }));
  return createHash('sha256').update(written).digest('base64url');
}
