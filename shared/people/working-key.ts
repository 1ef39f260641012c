import type { DatabaseTransaction } from '../platform/database.ts';
import { ServiceError } from '../platform/errors.ts';

/**
 * Checks that a key which makes something that outlives it still works: it may have been revoked since the request began. Call it with
 * the organization locked, as everything that revokes the key does.
 * @param actor `key:<id>`; any other actor is not checked.
 * @returns when the actor itself expires; null for never.
 * @throws ServiceError invalid_api_key for a revoked or expired key, insufficient_scope for a stopped one.
 */
export async function requireWorkingKey(
  tx: DatabaseTransaction,
  { organizationId, actor }: { organizationId: string; actor: string },
  now: Date,
): Promise<{ expiresAt: Date | null }> {
  if (!actor.startsWith('key:')) return { expiresAt: null };
  const key = await tx.apiKey.findUnique({
    where: {
      id: actor.slice('key:'.length),
      organizationId,
      revokedAt: null,
      OR: [{ expiresAt: null }, { expiresAt: { gt: now } }],
    },
    select: { stoppedAt: true, expiresAt: true },
  });
  if (key === null) {
    const message = 'The API key of this request was just revoked or has expired. Use another key.';
    throw new ServiceError('invalid_api_key', message);
  }
  if (key.stoppedAt === null) return key;
  throw new ServiceError(
    'insufficient_scope',
    'The API key of this request was just stopped. Use another key.',
  );
}
