import { writeAudit } from '../audit-log.ts';
import type { Database, DatabaseTransaction, Prisma } from '../db.ts';
import type { Dependencies } from '../dependencies.ts';
import { newId } from '../ids.ts';
import { loadPolicies } from '../policies/decide.ts';
import { digestPolicies } from '../policies/digest.ts';
import { inOrder, type Policy, policyFileSchema, policyToRow } from '../policies/policy.ts';
import { readPolicyFile } from '../policies/read-policy-file.ts';
import { findOrganization, lockOrganization } from './find-organization.ts';

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
    if (madeFrom !== undefined) {
      const holding = digestPolicies(await loadPolicies(tx, organizationId));
      if (holding !== madeFrom) {
        // Sent twice, as by a second click: what is asked for holds already.
        if (holding === digestPolicies(policies)) return;
        throw new PoliciesChangedError('Other policies hold by now');
      }
    }
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
