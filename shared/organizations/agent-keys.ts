import { type ApiKey, type Database, Prisma } from '../platform/database.ts';
import { ServiceError } from '../platform/errors.ts';
import { isId } from '../platform/ids.ts';
import type { ApiKeySummary } from './api-keys.ts';

/** The owner of keys. Keys of another organization or environment are not found. */
type KeyOwner = Pick<ApiKey, 'organizationId' | 'environment'>;

/** The most agent keys that are not revoked, per environment. */
export const maxAgentKeys = 100;

/** The filter for keys made for agents that are not revoked. */
export const agentKeys = { agentLimits: { not: Prisma.AnyNull }, revokedAt: null };

/** The keys made for agents that are not revoked, the newest first. */
export async function listAgentKeys(
  db: Database,
  { organizationId, environment }: KeyOwner,
): Promise<ApiKeySummary[]> {
  return await db.apiKey.findMany({
    where: { organizationId, environment, ...agentKeys },
    omit: { hash: true },
    orderBy: [{ createdAt: 'desc' }, { id: 'desc' }],
  });
}

/**
 * Finds a key made for agents that is not revoked.
 * @throws ServiceError not_found for an id that is unknown, malformed, of another owner or of a key that is not for agents.
 */
export async function findAgentKey(
  db: Database,
  { organizationId, environment }: KeyOwner,
  id: string,
): Promise<ApiKeySummary> {
  const where = { id, organizationId, environment, ...agentKeys };
  const key = isId('key', id) ? await db.apiKey.findUnique({ where, omit: { hash: true } }) : null;
  if (key !== null) return key;
  throw new ServiceError('not_found', 'API key not found.');
}
