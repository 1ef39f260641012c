import type { DatabaseTransaction } from '../platform/database.ts';
import { ServiceError } from '../platform/errors.ts';
import { type PersonalScope, requirePersonBehind } from './personal-scopes.ts';

interface Creator {
  organizationId: string;
  /** `user:<id>`, `key:<id>`, or an actor of the command line, which is not checked. */
  actor: string;
}

/**
 * Checks that an actor may still create something that outlives the request: rights that were checked when it began may have ended.
 * Call it with the organization locked, as everything that ends these rights does.
 * @returns when the actor itself expires; null for never.
 * @throws ServiceError invalid_api_key for a revoked or expired key; insufficient_scope for a stopped one, and as `requirePersonBehind`.
 */
export async function requireCreator(
  tx: DatabaseTransaction,
  creator: Creator,
  scope: PersonalScope,
  now: Date,
): Promise<{ expiresAt: Date | null }> {
  const working = await requireWorkingKey(tx, creator, now);
  await requirePersonBehind(tx, creator, scope);
  return working;
}

async function requireWorkingKey(
  tx: DatabaseTransaction,
  { organizationId, actor }: Creator,
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
