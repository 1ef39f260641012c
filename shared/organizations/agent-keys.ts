import type { Database } from '../platform/database.ts';
import type { Environment } from '../platform/environment.ts';
import { ServiceError } from '../platform/errors.ts';
import { type ApiKeySummary, listApiKeys } from './api-keys.ts';

/** The owner of keys. Keys of another organization or environment do not exist for it. */
interface KeyOwner {
  organizationId: string;
  environment: Environment;
}

/** The keys made for agents that are not revoked, the newest first. */
export async function listAgentKeys(
  db: Database,
  { organizationId, environment }: KeyOwner,
): Promise<ApiKeySummary[]> {
  const keys = await listApiKeys(db, organizationId, environment);
  return keys.filter(isAgentKey);
}

/**
 * Finds a key made for agents that is not revoked.
 * @throws ServiceError not_found for an id that is unknown, malformed, another owner's or that of another key.
 */
export async function findAgentKey(
  db: Database,
  { organizationId, environment }: KeyOwner,
  id: string,
): Promise<ApiKeySummary> {
  const key = /^key_[a-z0-9]{1,64}$/.test(id)
    ? await db.apiKey.findUnique({ where: { id }, omit: { hash: true } })
    : null;
  const isOwn = key?.organizationId === organizationId && key.environment === environment;
  if (isOwn && isAgentKey(key)) return key;
  throw new ServiceError('not_found', 'API key not found.');
}

function isAgentKey({ agentLimits, revokedAt }: ApiKeySummary): boolean {
  return agentLimits !== null && revokedAt === null;
}
