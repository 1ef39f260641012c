import { writeAudit } from '../audit/audit-log.ts';
import type { Database, DatabaseTransaction, Prisma, Stores } from '../platform/database.ts';
import { newId } from '../platform/ids.ts';
import { changeOrganization, findOrganization } from '../platform/organization.ts';
import { inOrder, type Policy, policyFromRow, policyToRow } from './policy.ts';
import { checkPolicyFile, digestPolicies, policyFileSchema, readPolicyFile } from './policy-file.ts';

/**
 * An organization's policies in the order in which they are checked.
 * @throws ServiceError not_found for an unknown organization.
 */
export async function listPolicies(db: Database, organizationId: string): Promise<Policy[]> {
  await findOrganization(db, organizationId);
  return await loadPolicies(db, organizationId);
}

async function loadPolicies(db: Pick<Database, 'policy'>, organizationId: string): Promise<Policy[]> {
  const rows = await db.policy.findMany({ where: { organizationId } });
  return inOrder(rows.map(policyFromRow));
}

interface Author {
  organizationId: string;
  /** Recorded in the audit log. */
  actor: string;
}

/**
 * Replaces all policies of an organization with those of a file.
 * @throws ServiceError validation_error naming the invalid fields; not_found for an unknown organization.
 */
export async function setPolicies(
  deps: Stores,
  { file, ...author }: Author & { file: unknown },
): Promise<Policy[]> {
  const policies = readPolicyFile(file);
  await changeOrganization(deps.db, author.organizationId, async (tx) => {
    await replacePolicies(tx, author, policies, deps.clock.now());
  });
  return policies;
}

/** A change of an organization's policies. */
interface PolicyChange extends Author {
  /** The digest of the policies that the change is based on. */
  basedOn: string;
  /** Makes the new file of policies from the stored ones; null when what it changes is no longer there. */
  change: (stored: readonly Policy[]) => unknown;
}

/**
 * Changes an organization's policies, or answers `conflict` and changes nothing when they are not those that the change is
 * based on. A change that makes no difference, such as the second submission of a form, is `saved` and writes nothing.
 * @throws ServiceError validation_error naming the invalid fields; not_found for an unknown organization.
 */
export async function changePolicies(
  deps: Stores,
  { basedOn, change, ...author }: PolicyChange,
): Promise<'saved' | 'conflict'> {
  return await changeOrganization(deps.db, author.organizationId, async (tx) => {
    const stored = await loadPolicies(tx, author.organizationId);
    const digest = digestPolicies(stored);
    const file = change(stored);
    if (file === null) return 'conflict';
    const reading = checkPolicyFile(file);
    if (reading.kind === 'valid' && digestPolicies(reading.policies) === digest) return 'saved';
    if (digest !== basedOn) return 'conflict';
    await replacePolicies(tx, author, readPolicyFile(file), deps.clock.now());
    return 'saved';
  });
}

async function replacePolicies(
  tx: DatabaseTransaction,
  { organizationId, actor }: Author,
  policies: readonly Policy[],
  now: Date,
): Promise<void> {
  await tx.policy.deleteMany({ where: { organizationId } });
  await insertPolicies(tx, organizationId, policies, now);
  const entry = { organizationId, actor, action: 'policies.set', target: organizationId } as const;
  const detail = asJson(policyFileSchema.encode({ policies: [...policies] }));
  await writeAudit(tx, { ...entry, detail }, now);
}

/** Adds policies to the stored ones, without validation and without an entry in the audit log. */
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

/** The encoded policies are JSON; Prisma's type is stricter, as it does not allow undefined. */
function asJson(encoded: object): Prisma.InputJsonObject {
  return encoded as Prisma.InputJsonObject;
}
