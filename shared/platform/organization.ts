import type { DatabaseTransaction, Organization } from './database.ts';
import { ServiceError } from './errors.ts';

/** @throws ServiceError not_found for an unknown id. */
export async function findOrganization(db: DatabaseTransaction, id: string): Promise<Organization> {
  const organization = await db.organization.findUnique({ where: { id } });
  if (organization === null) throw new ServiceError('not_found', `Organization not found: ${id}`);
  return organization;
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
