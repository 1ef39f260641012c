import type { z } from 'zod';
import { writeAudit } from '../audit-log.ts';
import type { Database, DatabaseTransaction, Prisma } from '../db.ts';
import type { Dependencies } from '../dependencies.ts';
import { ServiceError } from '../errors.ts';
import { newId } from '../ids.ts';
import { loadPolicies } from '../policies/decide.ts';
import { type Policy, policyFileSchema, policyToRow } from '../policies/policy.ts';
import { processorNames } from '../processors/registry.ts';
import { findOrganization, lockOrganization } from './find-organization.ts';

/** What is wrong is told up to this many places of the file; the rest shows once these are mended. */
const maxProblems = 5;

/** An organization's policies in the order in which they are asked. */
export async function listPolicies(db: Database, organizationId: string): Promise<Policy[]> {
  await findOrganization(db, organizationId);
  const policies = await loadPolicies(db, organizationId);
  return policies.sort((a, b) => a.priority - b.priority || (a.name < b.name ? -1 : 1));
}

/**
 * Replaces all policies of an organization by those of a file, or changes nothing.
 * @throws ServiceError validation_error naming the fields that are not valid; not_found for the organization.
 */
export async function setPolicies(
  deps: Pick<Dependencies, 'db' | 'clock'>,
  request: { organizationId: string; file: unknown; actor: string },
): Promise<Policy[]> {
  const { organizationId, actor } = request;
  const policies = readPolicyFile(request.file);
  const now = deps.clock.now();
  await deps.db.$transaction(async (tx) => {
    await lockOrganization(tx, organizationId);
    await tx.policy.deleteMany({ where: { organizationId } });
    await insertPolicies(tx, organizationId, policies, now);
    const entry = { organizationId, actor, action: 'policies.set', target: organizationId } as const;
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
  if (issue.code !== 'unrecognized_keys') return [`${field || 'file'}: ${message}`];
  return issue.keys.map((key) => `${[...path, key].join('.')}: there is no such field`);
}

function invalid(problems: readonly string[]): ServiceError {
  const more = problems.length > maxProblems ? `; and ${problems.length - maxProblems} more` : '';
  return new ServiceError('validation_error', `${problems.slice(0, maxProblems).join('; ')}${more}.`);
}
