import { createHash, randomInt, timingSafeEqual } from 'node:crypto';
import { writeAudit } from '../platform/audit-log.ts';
import type { ApiKey, Database, Reads } from '../platform/database.ts';
import type { PlatformDependencies } from '../platform/dependencies.ts';
import type { Environment } from '../platform/environment.ts';
import { ServiceError } from '../platform/errors.ts';
import { newId } from '../platform/ids.ts';
import { findOrganization } from '../platform/organization.ts';
import { type SharedStatement, shareRead } from '../platform/shared-statement.ts';

/** What a key may do. Reading events needs `refunds:read`. */
export const apiKeyScopes = [
  'refunds:read',
  'refunds:write',
  'refunds:approve',
  'policies:read',
  'webhooks:manage',
] as const;

export type ApiKeyScope = (typeof apiKeyScopes)[number];

/** A key approves refunds only when it was made for that. */
const defaultScopes: readonly ApiKeyScope[] = apiKeyScopes.filter((scope) => scope !== 'refunds:approve');

const alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789';
const secretLength = 32;
const keyPattern = /^svc_(live|test)_[A-Za-z0-9]{32}$/;

/** Generates a key: the environment's prefix and 32 random letters and digits, 190 bits. */
export function generateApiKey(environment: Environment): string {
  const secret = Array.from({ length: secretLength }, () => alphabet[randomInt(alphabet.length)]).join('');
  return `svc_${environment}_${secret}`;
}

/** The hash under which a key is stored. */
export function hashApiKey(key: string): Uint8Array<ArrayBuffer> {
  return Uint8Array.from(createHash('sha256').update(key).digest());
}

/** A key without its hash, for display. */
export type ApiKeySummary = Omit<ApiKey, 'hash'>;

/** An organization's keys, the newest first, optionally of one environment. */
export async function listApiKeys(
  db: Database,
  organizationId: string,
  environment?: Environment,
): Promise<ApiKeySummary[]> {
  await findOrganization(db, organizationId);
  return await db.apiKey.findMany({
    where: { organizationId, ...(environment === undefined ? {} : { environment }) },
    omit: { hash: true },
    orderBy: [{ createdAt: 'desc' }, { id: 'desc' }],
  });
}

/**
 * Creates a key. Its plaintext is returned only here.
 * @param request.plaintext a key to use instead of a random one; for development and tests.
 * @throws ServiceError not_found for the organization; validation_error for a malformed plaintext.
 */
export async function createApiKey(
  deps: Pick<PlatformDependencies, 'db' | 'clock'>,
  request: {
    organizationId: string;
    environment: Environment;
    actor: string;
    scopes?: readonly ApiKeyScope[];
    plaintext?: string;
  },
): Promise<{ id: string; plaintext: string }> {
  const { organizationId, environment, actor, scopes = defaultScopes } = request;
  const plaintext = request.plaintext ?? generateApiKey(environment);
  if (keyPattern.exec(plaintext)?.[1] !== environment) {
    throw new ServiceError(
      'validation_error',
      `plaintext: must be svc_${environment}_ followed by ${secretLength} letters and digits.`,
    );
  }
  const id = newId('key');
  const lastFour = plaintext.slice(-4);
  const now = deps.clock.now();
  await deps.db.$transaction(async (tx) => {
    await findOrganization(tx, organizationId);
    const hash = hashApiKey(plaintext);
    const row = { id, organizationId, environment, hash, lastFour, createdBy: actor, createdAt: now };
    await tx.apiKey.create({ data: { ...row, scopes: [...scopes] } });
    const entry = { organizationId, actor, action: 'key.created', target: id } as const;
    await writeAudit(tx, { ...entry, detail: { environment, lastFour } }, now);
  });
  return { id, plaintext };
}

/**
 * Revokes a key permanently, effective from the next request; repeating it changes nothing.
 * @param request.organizationId limits it to keys of this organization.
 * @param request.environment limits it to keys of this environment.
 * @throws ServiceError not_found for an unknown key.
 */
export async function revokeApiKey(
  deps: Pick<PlatformDependencies, 'db' | 'clock'>,
  request: { organizationId?: string; environment?: Environment; keyId: string; actor: string },
): Promise<{ organizationId: string; alreadyRevoked: boolean }> {
  const { keyId, actor } = request;
  const now = deps.clock.now();
  return await deps.db.$transaction(async (tx) => {
    const key = await tx.apiKey.findUnique({ where: { id: keyId } });
    if (key === null || !isAmong(key, request)) {
      throw new ServiceError('not_found', `API key not found: ${keyId}`);
    }
    const { organizationId, environment, lastFour } = key;
    const { count } = await tx.apiKey.updateMany({
      where: { id: keyId, revokedAt: null },
      data: { revokedAt: now },
    });
    if (count === 0) return { organizationId, alreadyRevoked: true };
    const entry = { organizationId, actor, action: 'key.revoked', target: keyId } as const;
    await writeAudit(tx, { ...entry, detail: { environment, lastFour } }, now);
    return { organizationId, alreadyRevoked: false };
  });
}

function isAmong(
  key: ApiKey,
  { organizationId, environment }: { organizationId?: string; environment?: Environment },
): boolean {
  const isOwn = organizationId === undefined || key.organizationId === organizationId;
  return isOwn && (environment === undefined || key.environment === environment);
}

/** The database leaves revoked and expired keys out, so that they take exactly as long as unknown ones. */
async function readApiKeys(reads: Reads, hashes: readonly string[]): Promise<Map<string, ApiKey>> {
  const rows = await reads.query<ApiKey>(
    `SELECT id, organization_id AS "organizationId", environment, hash, last_four AS "lastFour",
       name, scopes, agent_limits AS "agentLimits", created_by AS "createdBy", created_at AS "createdAt",
       last_used_at AS "lastUsedAt", expires_at AS "expiresAt", stopped_at AS "stoppedAt", revoked_at AS "revokedAt"
     FROM api_key WHERE hash = ANY ($1) AND revoked_at IS NULL AND (expires_at IS NULL OR expires_at > service_time())`,
    [hashes.map((hash) => Buffer.from(hash, 'hex'))],
  );
  return new Map(rows.map((row) => [Buffer.from(row.hash).toString('hex'), row]));
}

/** Finds keys by the hash of the whole key; undefined for an unknown or revoked one. */
export type ApiKeyLookup = SharedStatement<string, ApiKey | undefined>;

/** Reads keys from the database for every request; concurrent requests share a statement. */
export function openApiKeyLookup(reads: Reads): ApiKeyLookup {
  return shareRead((hashes) => readApiKeys(reads, hashes));
}

/**
 * Finds the key that a caller presents. Nothing is cached, so a revocation takes effect at once.
 * @returns null for a malformed, unknown or revoked key, indistinguishably.
 */
export async function findApiKey(lookUp: ApiKeyLookup, presented: string): Promise<ApiKey | null> {
  if (!keyPattern.test(presented)) return null;
  const hash = hashApiKey(presented);
  const row = await lookUp(Buffer.from(hash).toString('hex'));
  return row !== undefined && timingSafeEqual(row.hash, hash) ? row : null;
}

/** Records the last use of a key, to the minute. */
export async function noteApiKeyUse(db: Database, key: ApiKey, now: Date): Promise<void> {
  const minuteAgo = new Date(now.getTime() - 60_000);
  if (key.lastUsedAt !== null && key.lastUsedAt > minuteAgo) return;
  await db.apiKey.updateMany({
    where: { id: key.id, OR: [{ lastUsedAt: null }, { lastUsedAt: { lt: minuteAgo } }] },
    data: { lastUsedAt: now },
  });
}
