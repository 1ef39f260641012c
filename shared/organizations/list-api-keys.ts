import type { Database, Prisma } from '../platform/database.ts';
import type { Environment } from '../platform/environment.ts';
import { ServiceError } from '../platform/errors.ts';
import { findOrganization } from '../platform/organization.ts';
import type { ApiKeySummary } from './api-keys.ts';

/** All keys of an organization, the newest first, for an operator. */
export async function listApiKeys(db: Database, organizationId: string): Promise<ApiKeySummary[]> {
  await findOrganization(db, organizationId);
  return await db.apiKey.findMany({
    where: { organizationId },
    omit: { hash: true },
    orderBy: [{ createdAt: 'desc' }, { id: 'desc' }],
  });
}

/**
 * Reads a page of the keys of an organization's environment, the newest first. Revoked keys are kept, so there may be many.
 * @param request.before the id of the key after which the page begins; the newest one unless given.
 * @returns `next`: the last of them, if older ones follow, which is `before` of the next page.
 * @throws ServiceError not_found for a `before` that is no key of the organization.
 */
export async function readApiKeyPage(
  db: Database,
  request: { organizationId: string; environment: Environment; before?: string | undefined; limit: number },
): Promise<{ keys: ApiKeySummary[]; next: string | null }> {
  const { organizationId, environment, before, limit } = request;
  const found = await db.apiKey.findMany({
    where: {
      organizationId,
      environment,
      ...(before === undefined ? {} : await olderThan(db, organizationId, before)),
    },
    omit: { hash: true },
    orderBy: [{ createdAt: 'desc' }, { id: 'desc' }],
    take: limit + 1,
  });
  const keys = found.slice(0, limit);
  return { keys, next: found.length > limit ? (keys.at(-1)?.id ?? null) : null };
}

async function olderThan(db: Database, organizationId: string, id: string): Promise<Prisma.ApiKeyWhereInput> {
  const last = await db.apiKey.findUnique({ where: { id, organizationId } });
  if (last === null) throw new ServiceError('not_found', 'API key not found.');
  const { createdAt } = last;
  return { createdAt: { lte: createdAt }, NOT: { createdAt, id: { gte: id } } };
}
