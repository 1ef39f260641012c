import { mayAct } from '../people/roles.ts';
import type { DatabaseTransaction } from '../platform/database.ts';
import { ServiceError } from '../platform/errors.ts';

/**
 * Checks that the actor who creates a key may still do so: rights that were checked when the request began may have ended. Call it
 * with the organization locked, as whatever ends these rights does.
 * @param creator.actor `user:<id>`, `key:<id>`, or an actor of the command line, which is not checked.
 * @throws ServiceError insufficient_scope for a user who is no owner or admin or is disabled, and for a stopped key;
 * invalid_api_key for a revoked or expired key.
 */
export async function checkKeyCreator(
  tx: DatabaseTransaction,
  { organizationId, actor }: { organizationId: string; actor: string },
  now: Date,
): Promise<void> {
  if (actor.startsWith('user:')) await checkUser(tx, organizationId, actor.slice(5));
  if (actor.startsWith('key:')) await checkKey(tx, organizationId, actor.slice(4), now);
}

async function checkUser(tx: DatabaseTransaction, organizationId: string, userId: string): Promise<void> {
  const membership = await tx.membership.findUnique({
    where: { organizationId_userId: { organizationId, userId }, user: { disabledAt: null } },
    select: { role: true },
  });
  if (membership !== null && mayAct(membership.role, 'admin')) return;
  const message = 'Only owners and admins can create API keys. Ask an owner or admin.';
  throw new ServiceError('insufficient_scope', message);
}

async function checkKey(
  tx: DatabaseTransaction,
  organizationId: string,
  id: string,
  now: Date,
): Promise<void> {
  const key = await tx.apiKey.findUnique({
    where: {
      id,
      organizationId,
      revokedAt: null,
      OR: [{ expiresAt: null }, { expiresAt: { gt: now } }],
    },
    select: { stoppedAt: true },
  });
  if (key === null) {
    const message = 'The API key of this request was just revoked or has expired. Use another key.';
    throw new ServiceError('invalid_api_key', message);
  }
  if (key.stoppedAt === null) return;
  throw new ServiceError(
    'insufficient_scope',
    'The API key of this request was just stopped. Use another key.',
  );
}
