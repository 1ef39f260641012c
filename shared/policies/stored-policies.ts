import { writeAudit } from '../platform/audit-log.ts';
import type { Database, DatabaseTransaction, Prisma } from '../platform/database.ts';
import type { PlatformDependencies } from '../platform/dependencies.ts';
import { newId } from '../platform/ids.ts';
import { findOrganization, lockOrganization } from '../platform/organization.ts';
import { loadPolicies } from './decide.ts';
import { digestPolicies } from './digest.ts';
import { inOrder, type Policy, policyFileSchema, policyToRow } from './policy.ts';
import { readPolicyFile } from './read-policy-file.ts';

/** An organization's policies in the order in which they are asked. */
export async function listPolicies(db: Database, organizationId: string): Promise<Policy[]> {
  await findOrganization(db, organizationId);
  return inOrder(await loadPolicies(db, organizationId));
}

/**
 * What became of policies that somebody made from those that held.
 * - `saved`: they hold.
 * - `changed`: somebody else was faster, so that others hold by now than those that they were made from; nothing changed.
 */
export type SavingOutcome = { kind: 'saved' } | { kind: 'changed' };

/** A file of policies for an organization, and whoever sets it. */
interface PolicySetting {
  organizationId: string;
  file: unknown;
  actor: string;
}

/**
 * Replaces all policies of an organization by those of a file, whatever they are, or changes nothing.
 * @throws ServiceError validation_error naming the fields that are not valid; not_found for the organization.
 */
export async function setPolicies(
  deps: Pick<PlatformDependencies, 'db' | 'clock'>,
  setting: PolicySetting,
): Promise<Policy[]> {
  const policies = readPolicyFile(setting.file);
  await deps.db.$transaction(async (tx) => {
    await lockOrganization(tx, setting.organizationId);
    await replacePolicies(tx, setting, policies, deps.clock.now());
  });
  return policies;
}

/**
 * Replaces all policies of an organization by those of a file unless others hold than those that the file was made from.
 * Where those of the file hold already, as after a second click, nothing is written.
 * @param setting.madeFrom the digest of the policies that the file was made from.
 * @throws ServiceError validation_error naming the fields that are not valid; not_found for the organization.
 */
export async function savePolicies(
  deps: Pick<PlatformDependencies, 'db' | 'clock'>,
  setting: PolicySetting & { madeFrom: string },
): Promise<SavingOutcome> {
  const policies = readPolicyFile(setting.file);
  return await deps.db.$transaction(async (tx): Promise<SavingOutcome> => {
    await lockOrganization(tx, setting.organizationId);
    const holding = digestPolicies(await loadPolicies(tx, setting.organizationId));
    if (holding === digestPolicies(policies)) return { kind: 'saved' };
    if (holding !== setting.madeFrom) return { kind: 'changed' };
    await replacePolicies(tx, setting, policies, deps.clock.now());
    return { kind: 'saved' };
  });
}

async function replacePolicies(
  tx: DatabaseTransaction,
  { organizationId, actor }: PolicySetting,
  policies: readonly Policy[],
  now: Date,
): Promise<void> {
  await tx.policy.deleteMany({ where: { organizationId } });
  await insertPolicies(tx, organizationId, policies, now);
  const entry = { organizationId, actor, action: 'policies.set', target: organizationId } as const;
  const detail = asJson(policyFileSchema.encode({ policies: [...policies] }));
  await writeAudit(tx, { ...entry, detail }, now);
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
