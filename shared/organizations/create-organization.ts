import { writeAudit } from '../audit/audit-log.ts';
import type { DatabaseTransaction, Stores } from '../platform/database.ts';
import { ServiceError } from '../platform/errors.ts';
import { isPrintable } from '../platform/formats/printable.ts';
import { newId } from '../platform/ids.ts';
import { defaultPolicy } from '../policies/policy.ts';
import { insertPolicies } from '../policies/stored-policies.ts';

/**
 * Creates an organization with the default policy.
 * @throws ServiceError validation_error for a name that is empty, too long or not printable.
 */
export async function createOrganization(
  deps: Stores,
  request: { name: string; actor: string },
): Promise<{ id: string }> {
  const { actor } = request;
  const name = checkedOrganizationName(request.name);
  const now = deps.clock.now();
  return { id: await deps.db.$transaction((tx) => insertOrganization(tx, { name, actor }, now)) };
}

/**
 * Trims and checks an organization's name.
 * @param field the name of the field in the error message.
 * @throws ServiceError validation_error when it is empty, too long or not printable.
 */
export function checkedOrganizationName(text: string, field = 'name'): string {
  const name = text.trim();
  if (isPrintable(name, { max: 200 })) return name;
  throw new ServiceError('validation_error', `${field}: must be 1 to 200 printable characters.`);
}

/** Stores an organization with the default policy and the audit entry, and returns its id. */
export async function insertOrganization(
  tx: DatabaseTransaction,
  { name, actor }: { name: string; actor: string },
  now: Date,
): Promise<string> {
  const id = newId('org');
  await tx.organization.create({ data: { id, name, createdAt: now } });
  await insertPolicies(tx, id, [defaultPolicy], now);
  const entry = { organizationId: id, actor, action: 'organization.created', target: id } as const;
  await writeAudit(tx, { ...entry, detail: { name } }, now);
  return id;
}
