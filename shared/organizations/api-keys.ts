import { createHash, randomInt, timingSafeEqual } from 'node:crypto';
import { writeAudit } from '../platform/audit-log.ts';
import type { ApiKey, Database, Reads } from '../platform/database.ts';
import type { PlatformDependencies } from '../platform/dependencies.ts';
import type { Environment } from '../platform/environment.ts';
import { ServiceError } from '../platform/errors.ts';
import { newId } from '../platform/ids.ts';
import { findOrganization } from '../platform/organization.ts';
import { type SharedStatement, shareRead } from '../platform/shared-statement.ts';

const alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789';
const secretLength = 32;
const keyPattern = /^svc_(live|test)_[A-Za-z0-9]{32}$/;

/** A new key: the environment's prefix and 32 random letters and digits, 190 bits. */
export function generateApiKey(environment: Environment): string {
  const secret = Array.from({ length: secretLength }, () => alphabet[randomInt(alphabet.length)]).join('');
  return `svc_${environment}_${secret}`;
}

/** What is stored of a key. */
export function hashApiKey(key: string): Uint8Array<ArrayBuffer> {
  return Uint8Array.from(createHash('sha256').update(key).digest());
}

/** A key as it may be shown: without its hash. */
export type ApiKeySummary = Omit<ApiKey, 'hash'>;

/** An organization's keys, the newest first; those of one environment when it is given. */
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
 * Creates a key. Its plaintext exists in the answer alone.
 * @param request.plaintext a key to use instead of a random one; for development and tests.
 * @throws ServiceError not_found for the organization, validation_error for a plaintext that is not a key of the
 * environment.
 */
export async function createApiKey(
  deps: Pick<PlatformDependencies, 'db' | 'clock'>,
  request: { organizationId: string; environment: Environment; actor: string; plaintext?: string },
): Promise<{ id: string; plaintext: string }> {
  const { organizationId, environment, actor } = request;
  const plaintext = request.plaintext ?? generateApiKey(environment);
  if (keyPattern.exec(plaintext)?.[1] !== environment) {
    throw new ServiceError(
      'validation_error',
      `plaintext: has to be svc_${environment}_ and ${secretLength} letters and digits.`,
    );
  }
  const id = newId('key');
  const lastFour = plaintext.slice(-4);
  const now = deps.clock.now();
  await deps.db.$transaction(async (tx) => {
    await findOrganization(tx, organizationId);
    const hash = hashApiKey(plaintext);
    const row = { id, organizationId, environment, hash, lastFour, createdBy: actor, createdAt: now };
    await tx.apiKey.create({ data: row });
    const entry = { organizationId, actor, action: 'key.created', target: id } as const;
    await writeAudit(tx, { ...entry, detail: { environment, lastFour } }, now);
  });
  return { id, plaintext };
}

/**
 * Revokes a key for good; requests with it are refused from the next one on. Doing it again changes nothing.
 * @param request.organizationId when given, a key of another organization does not exist.
 * @param request.environment when given, a key of the other environment does not exist.
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
      throw new ServiceError('not_found', `No such key: ${keyId}`);
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

/** Revoked keys are left out by the database, because a row that has to be read first would tell them by its time. */
async function readApiKeys(reads: Reads, hashes: readonly string[]): Promise<Map<string, ApiKey>> {
  const rows = await reads.query<ApiKey>(
    `SELECT id, organization_id AS "organizationId", environment, hash, last_four AS "lastFour",
       created_by AS "createdBy", created_at AS "createdAt", last_used_at AS "lastUsedAt", revoked_at AS "revokedAt"
     FROM api_key WHERE hash = ANY ($1) AND revoked_at IS NULL`,
    [hashes.map((hash) => Buffer.from(hash, 'hex'))],
  );
  return new Map(rows.map((row) => [Buffer.from(row.hash).toString('hex'), row]));
}

/** Finds keys by the hash of the whole key; one that is unknown or revoked is undefined. */
export type ApiKeyLookup = SharedStatement<string, ApiKey | undefined>;

/** Keys are read afresh each time; requests that arrive at the same moment share the statement. */
export function openApiKeyLookup(reads: Reads): ApiKeyLookup {
  return shareRead((hashes) => readApiKeys(reads, hashes));
}

/**
 * Finds the key that a caller presents. It is read afresh each time, so a revocation works at once.
 * @returns null when it is malformed, unknown or revoked; nobody can tell which.
 */
export async function findApiKey(lookUp: ApiKeyLookup, presented: string): Promise<ApiKey | null> {
  if (!keyPattern.test(presented)) return null;
  const hash = hashApiKey(presented);
  const row = await lookUp(Buffer.from(hash).toString('hex'));
  return row !== undefined && timingSafeEqual(row.hash, hash) ? row : null;
}

/** Notes that a key is in use, to the minute. */
export async function noteApiKeyUse(db: Database, key: ApiKey, now: Date): Promise<void> {
  const minuteAgo = new Date(now.getTime() - 60_000);
  if (key.lastUsedAt !== null && key.lastUsedAt > minuteAgo) return;
  await db.apiKey.updateMany({
    where: { id: key.id, OR: [{ lastUsedAt: null }, { lastUsedAt: { lt: minuteAgo } }] },
    data: { lastUsedAt: now },
  });
}
