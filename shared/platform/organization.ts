import type { Database, DatabaseTransaction, Organization } from './database.ts';
import { ServiceError } from './errors.ts';

/** @throws ServiceError not_found for an unknown id. */
export async function findOrganization(db: DatabaseTransaction, id: string): Promise<Organization> {
  const organization = await db.organization.findUnique({ where: { id } });
  if (organization === null) throw new ServiceError('not_found', `Organization not found: ${id}`);
  return organization;
}

/**
 * Changes the setup of an organization in a database transaction of its own, with the organization locked.
 * @throws ServiceError not_found for an unknown id; what `change` throws.
 */
export async function changeOrganization<Result>(
  db: Database,
  id: string,
  change: (tx: DatabaseTransaction) => Promise<Result>,
): Promise<Result> {
  return await db.$transaction(async (tx) => {
    await lockOrganization(tx, id);
    return await change(tx);
  });
}

/**
 * Serializes changes of an organization's setup. Rows that refer to the organization can still be written.
 * @throws ServiceError not_found for an unknown id.
 */
export async function lockOrganization(tx: DatabaseTransaction, id: string): Promise<void> {
  const locked = await tx.$queryRaw<unknown[]>`
    SELECT 1 FROM organization WHERE id = ${id} FOR NO KEY UPDATE`;
  if (locked.length === 0) throw new ServiceError('not_found', `Organization not found: ${id}`);
}
