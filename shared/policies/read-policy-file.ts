import { z } from 'zod';
import { ServiceError } from '../errors.ts';
import { processorNames } from '../processors/registry.ts';
import { type Policy, policyFileSchema } from './policy.ts';

/** What is wrong is told up to this many places of the file; the rest shows once these are mended. */
const maxProblems = 5;

/** An organization has no more policies than this: all of them are read for each refund. */
export const maxPolicies = 100;

/** What is said where there are more, in the middle of a sentence. */
export const tooManyPolicies = `must have ${maxPolicies} policies at most: join or remove some`;

// A policy for a processor that does not exist would never match, and nobody would notice.
const existingProcessorsSchema = policyFileSchema.superRefine(({ policies }, context) => {
  for (const [index, { match }] of policies.entries()) {
    for (const name of match.processors ?? []) {
      if (processorNames.includes(name)) continue;
      const path = ['policies', index, 'match', 'processors'];
      const message = `unknown processor "${name}", use ${processorNames.join(' or ')}`;
      context.addIssue({ code: 'custom', path, message });
    }
  }
});

// Counted before any of them is looked at, because looking at thousands would keep everybody else waiting. It is a rule of
// what is set from here on alone: what is there already is shown and written out, however many they are.
const fileSchema = z
  .unknown()
  .superRefine((file, context) => {
    if (countPolicies(file) <= maxPolicies) return;
    context.addIssue({ code: 'custom', path: ['policies'], message: tooManyPolicies });
  })
  .pipe(existingProcessorsSchema);

function countPolicies(file: unknown): number {
  const { policies } = (file ?? {}) as { policies?: unknown };
  return Array.isArray(policies) ? policies.length : 0;
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
