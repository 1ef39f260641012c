import { createHash, randomInt, timingSafeEqual } from 'node:crypto';
import type { ApiKey, Database, DatabaseTransaction } from '../db.ts';
import type { Environment } from '../environment.ts';
import { newId } from '../ids.ts';

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

/**
 * Creates a key. Its plaintext exists in the answer alone.
 * @param createdBy who did it, as in the audit log.
 */
export async function createApiKey(
  db: DatabaseTransaction,
  key: { organizationId: string; environment: Environment; createdBy: string; plaintext?: string },
): Promise<{ id: string; plaintext: string }> {
  const plaintext = key.plaintext ?? generateApiKey(key.environment);
  const row = await db.apiKey.create({
    data: {
      id: newId('key'),
      organizationId: key.organizationId,
      environment: key.environment,
      hash: hashApiKey(plaintext),
      lastFour: plaintext.slice(-4),
      createdBy: key.createdBy,
    },
  });
  return { id: row.id, plaintext };
}

/**
 * Finds the key that a caller presents. It is asked of the database each time, so a revocation works at once.
 * @returns null when it is malformed, unknown or revoked; nobody can tell which.
 */
export async function findApiKey(db: Database, presented: string): Promise<ApiKey | null> {
  if (!keyPattern.test(presented)) return null;
  const hash = hashApiKey(presented);
  const row = await db.apiKey.findUnique({ where: { hash } });
  if (row === null || !timingSafeEqual(row.hash, hash) || row.revokedAt !== null) return null;
  return row;
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
