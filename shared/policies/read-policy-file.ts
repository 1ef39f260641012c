import { z } from 'zod';
import { ServiceError } from '../platform/errors.ts';
import { processorNames } from '../processors/registry.ts';
import { forbiddenMetadataKeys, metadataLimits } from '../refunds/model/refund.ts';
import { type Policy, policyFileSchema } from './policy.ts';

/** What is wrong is told up to this many places of the file; the rest shows once these are mended. */
const maxProblems = 5;

/** No more policies than this can be set: all of them are read for each refund. */
export const maxPolicies = 100;

/** What is said where there are more, in the middle of a sentence. */
export const tooManyPolicies = `must have ${maxPolicies} policies at most: join or remove some`;

// A policy that can never match would go unnoticed. Like the number of policies it is a rule of what is set from here on
// alone: what is there already holds as it is.
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

// Counted before any of them is looked at, because looking at thousands would keep everybody else waiting. Keys are looked at
// before they are read, because a reader may leave out what it takes for something else: the policy would match more than it says.
const fileSchema = z
  .unknown()
  .superRefine((file, context) => {
    const policies = policiesIn(file);
    if (policies.length > maxPolicies) {
      context.addIssue({ code: 'custom', path: ['policies'], message: tooManyPolicies });
      return;
    }
    for (const [index, policy] of policies.entries()) {
      const key = forbiddenKeyOf(policy);
      if (key === undefined) continue;
      const path = ['policies', index, 'match', 'metadata'];
      context.addIssue({ code: 'custom', path, message: `must not name ${key}, which no metadata has` });
    }
  })
  .pipe(matchableSchema);

function policiesIn(file: unknown): unknown[] {
  const { policies } = (file ?? {}) as { policies?: unknown };
  return Array.isArray(policies) ? policies : [];
}

function forbiddenKeyOf(policy: unknown): string | undefined {
  const { match } = (policy ?? {}) as { match?: { metadata?: unknown } | null };
  const metadata = Object(match?.metadata);
  return forbiddenMetadataKeys.find((key) => Object.hasOwn(metadata, key));
}

/** A place of a file that is not as it has to be: under which names it stands, and what it should be. */
export type PolicyIssue = z.core.$ZodIssue;

/** What a file holds: policies, or what is wrong with it. */
export type PolicyFileReading =
  | { kind: 'valid'; policies: Policy[] }
  | { kind: 'invalid'; issues: readonly PolicyIssue[] };

/** Reads a file of policies and finds everything that is wrong with it. */
export function checkPolicyFile(file: unknown): PolicyFileReading {
  const checked = fileSchema.safeParse(file);
  if (checked.success) return { kind: 'valid', policies: checked.data.policies };
  return { kind: 'invalid', issues: checked.error.issues };
}

/**
 * Reads a file of policies without setting them.
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

/** What is wrong there, in the middle of a sentence. */
export function messageOf(issue: PolicyIssue): string {
  return issue.code === 'invalid_key' ? (issue.issues[0]?.message ?? issue.message) : issue.message;
}
