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

/**
 * Reads a page of the keys of an organization's environment, the newest first. Revoked keys are kept, so there may be many.
 * @param request.before the id of the key after which the page begins; the newest one unless given.
 * @returns `next`: the last of them, if older ones follow, which is `before` of the next page.
 * @throws ServiceError not_found for a `before` that is no key of the organization.
 */
export async function readApiKeyPage(
  db: Database,
  request: KeyOwner & { before?: string | undefined; limit: number },
): Promise<{ keys: ApiKeySummary[]; next: string | null }> {
  const { organizationId, environment, before, limit } = request;
  const older = before === undefined ? {} : await olderThan(db, organizationId, before);
  const where = { organizationId, environment, ...older };
  const found = await db.apiKey.findMany({ where, ...listed, take: limit + 1 });
  const keys = found.slice(0, limit);
  return { keys, next: found.length > limit ? (keys.at(-1)?.id ?? null) : null };
}

async function olderThan(db: Database, organizationId: string, id: string): Promise<Prisma.ApiKeyWhereInput> {
  const last = await db.apiKey.findUnique({ where: { id, organizationId } });
  if (last === null) throw keyNotFound();
  const { createdAt } = last;
  return { createdAt: { lte: createdAt }, NOT: { createdAt, id: { gte: id } } };
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
