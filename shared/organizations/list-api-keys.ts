import { olderThan, type Position } from '../platform/cursor.ts';
import { type ApiKey, type Database, Prisma } from '../platform/database.ts';
import { ServiceError } from '../platform/errors.ts';
import { isId } from '../platform/ids.ts';
import { findOrganization } from '../platform/organization.ts';
import type { ApiKeySummary } from './api-keys.ts';

/** The owner of keys. Keys of another organization or environment are not found. */
type KeyOwner = Pick<ApiKey, 'organizationId' | 'environment'>;

/** How keys are read for display. */
const listed = {
  omit: { hash: true },
  orderBy: [{ createdAt: 'desc' }, { id: 'desc' }],
} as const satisfies Prisma.ApiKeyFindManyArgs;

/** All keys of an organization, the newest first, for an operator. */
export async function listApiKeys(db: Database, organizationId: string): Promise<ApiKeySummary[]> {
  await findOrganization(db, organizationId);
  return await db.apiKey.findMany({ where: { organizationId }, ...listed });
}

/** The keys of an environment that are older than a position, the newest first, also revoked ones. */
export async function findApiKeys(
  db: Database,
  { organizationId, environment }: KeyOwner,
  before: Position | null,
  limit: number,
): Promise<ApiKeySummary[]> {
  const where = { organizationId, environment, ...olderThan(before) };
  return await db.apiKey.findMany({ where, ...listed, take: limit });
}

/** The filter for keys made for agents that are not revoked. */
export const agentKeys = { agentLimits: { not: Prisma.AnyNull }, revokedAt: null };

/** The keys made for agents that are not revoked, the newest first. */
export async function listAgentKeys(
  db: Database,
  { organizationId, environment }: KeyOwner,
): Promise<ApiKeySummary[]> {
  return await db.apiKey.findMany({ where: { organizationId, environment, ...agentKeys }, ...listed });
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
  const key = isId('key', id) ? await db.apiKey.findUnique({ where, omit: listed.omit }) : null;
  if (key === null) throw keyNotFound();
  return key;
}

function keyNotFound(): ServiceError {
  return new ServiceError('not_found', 'API key not found.');
}
