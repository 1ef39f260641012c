import { timingSafeEqual } from 'node:crypto';
import { type SharedStatement, shareRead } from '../platform/concurrency/shared-statement.ts';
import type { ApiKey, Database, Reads } from '../platform/database.ts';
import { sha256 } from '../platform/secrets/secrets.ts';

/** The format of a key; the group is its environment. Other texts are refused without a statement. */
export const keyPattern = /^svc_(live|test)_[A-Za-z0-9]{32}$/;

/** The hash under which a key is stored. */
export function hashApiKey(key: string): Uint8Array<ArrayBuffer> {
  return sha256(key);
}

/** The database leaves revoked and expired keys out, so that they take exactly as long as unknown ones. */
async function readByHash(reads: Reads, hashes: readonly string[]): Promise<Map<string, ApiKey>> {
  const rows = await reads.query<ApiKey>(
    `SELECT id, organization_id AS "organizationId", environment, hash, last_four AS "lastFour",
       name, scopes, agent_limits AS "agentLimits", api_version AS "apiVersion", created_by AS "createdBy", created_at AS "createdAt",
       last_used_at AS "lastUsedAt", first_tool AS "firstTool", first_tool_at AS "firstToolAt", expires_at AS "expiresAt", stopped_at AS "stoppedAt", revoked_at AS "revokedAt"
     FROM api_key WHERE hash = ANY ($1) AND revoked_at IS NULL AND (expires_at IS NULL OR expires_at > service_time())`,
    [hashes.map((hash) => Buffer.from(hash, 'hex'))],
  );
  return new Map(rows.map((row) => [Buffer.from(row.hash).toString('hex'), row]));
}

/**
 * The hashes of all keys that are neither revoked nor expired, in hexadecimal. One statement, however many keys are compared
 * with them.
 */
export async function readValidHashes(reads: Reads): Promise<ReadonlySet<string>> {
  const rows = await reads.query<{ hash: string }>(
    `SELECT encode(hash, 'hex') AS hash FROM api_key
     WHERE revoked_at IS NULL AND (expires_at IS NULL OR expires_at > service_time())`,
    [],
  );
  return new Set(rows.map(({ hash }) => hash));
}

/** Finds keys by the hash of the whole key; undefined for an unknown, revoked or expired one. */
export type ApiKeyLookup = SharedStatement<string, ApiKey | undefined>;

/** Reads keys from the database for every request; concurrent requests share a statement. */
export function openApiKeyLookup(reads: Reads): ApiKeyLookup {
  return shareRead((hashes) => readByHash(reads, hashes));
}

/**
 * Finds the key that a caller presents. Nothing is cached, so a revocation takes effect at once.
 * @returns null for a malformed, unknown, revoked or expired key, indistinguishably.
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

/** Records the first tool for agents that is called with a key. */
export async function noteFirstTool(db: Database, key: ApiKey, tool: string, now: Date): Promise<void> {
  if (key.firstTool !== null) return;
  await db.apiKey.updateMany({
    where: { id: key.id, firstTool: null },
    data: { firstTool: tool, firstToolAt: now },
  });
}
