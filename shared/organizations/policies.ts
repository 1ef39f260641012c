import type { z } from 'zod';
import { writeAudit } from '../audit-log.ts';
import type { Database, DatabaseTransaction, Prisma } from '../db.ts';
import type { Dependencies } from '../dependencies.ts';
import { ServiceError } from '../errors.ts';
import { newId } from '../ids.ts';
import { loadPolicies } from '../policies/decide.ts';
import { digestPolicies } from '../policies/digest.ts';
import { inOrder, type Policy, policyFileSchema, policyToRow } from '../policies/policy.ts';
import { processorNames } from '../processors/registry.ts';
import { findOrganization, lockOrganization } from './find-organization.ts';

/** What is wrong is told up to this many places of the file; the rest shows once these are mended. */
const maxProblems = 5;

/** An organization's policies in the order in which they are asked. */
export async function listPolicies(db: Database, organizationId: string): Promise<Policy[]> {
  await findOrganization(db, organizationId);
  return inOrder(await loadPolicies(db, organizationId));
}

/** Somebody else has changed an organization's policies meanwhile; those that somebody started from are not there any more. */
export class PoliciesChangedError extends Error {
  override readonly name = 'PoliciesChangedError';
}

/**
 * Replaces all policies of an organization by those of a file, or changes nothing.
 * @param request.madeFrom the digest of the policies that the file was made from; without it, whatever holds is replaced.
 * @throws ServiceError validation_error naming the fields that are not valid; not_found for the organization.
 * @throws PoliciesChangedError when other policies hold by now than those that the file was made from.
 */
export async function setPolicies(
  deps: Pick<Dependencies, 'db' | 'clock'>,
  request: { organizationId: string; file: unknown; actor: string; madeFrom?: string },
): Promise<Policy[]> {
  const { organizationId, actor, madeFrom } = request;
  const policies = readPolicyFile(request.file);
  const now = deps.clock.now();
  await deps.db.$transaction(async (tx) => {
    await lockOrganization(tx, organizationId);
    if (madeFrom !== undefined && digestPolicies(await loadPolicies(tx, organizationId)) !== madeFrom) {
      throw new PoliciesChangedError('Other policies hold by now');
    }
    await tx.policy.deleteMany({ where: { organizationId } });
    await insertPolicies(tx, organizationId, policies, now);
    const entry = { organizationId, actor, action: 'policies.set', target: organizationId };
    await writeAudit(tx, { ...entry, detail: asJson(policyFileSchema.encode({ policies })) }, now);
  });
  return policies;
}

/** Adds policies to those that there are. */
export async function insertPolicies(
  tx: DatabaseTransaction,
  organizationId: string,
  policies: readonly Policy[],
  now: Date,
): Promise<void> {
  await tx.policy.createMany({
    data: policies.map((policy) => {
      const { name, priority, rules } = policyToRow(policy);
      const times = { createdAt: now, updatedAt: now };
      return { id: newId('pol'), organizationId, name, priority, rules: asJson(rules), ...times };
    }),
  });
}

/** What a schema encodes is JSON; its type says so less strictly than Prisma's, which knows no undefined. */
function asJson(encoded: object): Prisma.InputJsonObject {
  return encoded as Prisma.InputJsonObject;
}

/**
 * Reads a file of policies without setting them.
 * @throws ServiceError validation_error naming the fields that are not valid.
 */
export function readPolicyFile(file: unknown): Policy[] {
  const checked = policyFileSchema.safeParse(file);
  if (!checked.success) throw invalid(checked.error.issues.flatMap(describeIssue));
  const { policies } = checked.data;
  const problems = policies.flatMap(({ match }, index) =>
    (match.processors ?? [])
      .filter((name) => !processorNames.includes(name))
      // A policy for a processor that does not exist would never match, and nobody would notice.
      .map(
        (name) =>
          `policies.${index}.match.processors: unknown processor "${name}", use ${processorNames.join(' or ')}`,
      ),
  );
  if (problems.length > 0) throw invalid(problems);
  return policies;
}

function describeIssue({ path, message, ...issue }: z.core.$ZodIssue): string[] {
  const field = path.join('.');
  if (issue.code === 'invalid_key') return [`${field}: ${issue.issues[0]?.message ?? message}`];
  if (issue.code !== 'unrecognized_keys') return [`${field || 'file'}: ${message}`];
  return issue.keys.map((key) => `${[...path, key].join('.')}: there is no such field`);
}

function invalid(problems: readonly string[]): ServiceError {
  const more = problems.length > maxProblems ? `; and ${problems.length - maxProblems} more` : '';
  return new ServiceError('validation_error', `${problems.slice(0, maxProblems).join('; ')}${more}.`);
}
