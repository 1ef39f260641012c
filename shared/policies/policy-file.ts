import { createHash } from 'node:crypto';
import { z } from 'zod';
import { ServiceError } from '../platform/errors.ts';
import { canonicalJson } from '../platform/formats/json.ts';
import { processorNames } from '../processors/registry.ts';
import { forbiddenMetadataKeys, metadataLimits } from '../refund-request/metadata.ts';
import { inOrder, type Policy, policySchema } from './policy.ts';

/** How many problems of a file one error message names. */
const maxProblems = 5;

/** The most policies that an organization can have: every refund reads all of them. */
const maxPolicies = 100;

/** All policies of an organization as JSON, the way a file or a form sets them and the audit log keeps them. */
export const policyFileSchema = z.strictObject({
  policies: z
    .array(policySchema, { error: 'must be a list of policies' })
    .min(1, { error: 'must contain at least one policy: without any, every refund would be allowed' })
    .superRefine((policies, context) => {
      const seen = new Set<string>();
      for (const [index, { name }] of policies.entries()) {
        if (seen.has(name)) {
          const message = `two policies are named "${name}"`;
          context.addIssue({ code: 'custom', path: [index, 'name'], message });
        }
        seen.add(name);
      }
    }),
});

// Refuses policies that can never match. Stored policies are not checked against this, so that a stricter rule here cannot break them.
const matchableSchema = policyFileSchema.superRefine(({ policies }, context) => {
  for (const [index, { match }] of policies.entries()) {
    const complain = (field: string, message: string) =>
      context.addIssue({ code: 'custom', path: ['policies', index, 'match', field], message });
    const unknown = match.processors?.find((name) => !processorNames.includes(name));
    if (unknown !== undefined) {
      complain('processors', `unknown processor "${unknown}", use ${processorNames.join(' or ')}`);
    }
    if (Object.keys(match.metadata ?? {}).length > metadataLimits.keys) {
      complain('metadata', `must name ${metadataLimits.keys} keys at most, as no metadata has more`);
    }
  }
});

// The number of policies is checked before their content, because validating thousands would block the process. Metadata keys
// are checked before parsing, because a parser may drop `__proto__`, and the policy would then match more than it says.
/** A file of policies as it is given. Its description is that of what it accepts. */
export const policyUploadSchema = z
  .unknown()
  .superRefine((file, context) => {
    const { policies: given } = (file ?? {}) as { policies?: unknown };
    const policies: unknown[] = Array.isArray(given) ? given : [];
    if (policies.length > maxPolicies) {
      const message = `must have at most ${maxPolicies} policies: combine or remove some`;
      context.addIssue({ code: 'custom', path: ['policies'], message });
      return;
    }
    for (const [index, policy] of policies.entries()) {
      const key = forbiddenKeyOf(policy);
      if (key === undefined) continue;
      const path = ['policies', index, 'match', 'metadata'];
      context.addIssue({ code: 'custom', path, message: `must not name ${key}, which no metadata has` });
    }
  })
  .pipe(matchableSchema)
  .meta(z.toJSONSchema(policyFileSchema, { io: 'input', unrepresentable: 'any' }));

function forbiddenKeyOf(policy: unknown): string | undefined {
  const { match } = (policy ?? {}) as { match?: { metadata?: unknown } | null };
  const metadata = Object(match?.metadata);
  return forbiddenMetadataKeys.find((key) => Object.hasOwn(metadata, key));
}

/** One problem of a file: its path and what is wrong there. */
export type PolicyIssue = z.core.$ZodIssue;

/** The policies of a file, or everything that is wrong with it. */
type PolicyFileReading =
  | { kind: 'valid'; policies: Policy[] }
  | { kind: 'invalid'; issues: readonly PolicyIssue[] };

/** Validates a file of policies. */
export function checkPolicyFile(file: unknown): PolicyFileReading {
  const checked = policyUploadSchema.safeParse(file);
  if (checked.success) return { kind: 'valid', policies: checked.data.policies };
  return { kind: 'invalid', issues: checked.error.issues };
}

/**
 * Validates a file of policies.
 * @throws ServiceError validation_error naming the fields that are not valid.
 */
export function readPolicyFile(file: unknown): Policy[] {
  const reading = checkPolicyFile(file);
  if (reading.kind === 'valid') return reading.policies;
  const problems = reading.issues.flatMap(describeIssue);
  const more = problems.length > maxProblems ? `; and ${problems.length - maxProblems} more` : '';
  throw new ServiceError('validation_error', `${problems.slice(0, maxProblems).join('; ')}${more}.`);
}

function describeIssue(issue: PolicyIssue): string[] {
  const { path } = issue;
  if (issue.code !== 'unrecognized_keys') return [`${path.join('.') || 'file'}: ${messageOf(issue)}`];
  return issue.keys.map((key) => `${[...path, key].join('.')}: there is no such field`);
}

/** What is wrong, in lower case and without a full stop. */
export function messageOf(issue: PolicyIssue): string {
  return issue.code === 'invalid_key' ? (issue.issues[0]?.message ?? issue.message) : issue.message;
}

/** A fingerprint of a set of policies, the same however they are ordered or written. Detects concurrent changes. */
export function digestPolicies(policies: readonly Policy[]): string {
  const written = canonicalJson(policyFileSchema.encode({ policies: inOrder(policies) }));
  return createHash('sha256').update(written).digest('base64url');
}

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
