import type { Dependencies } from '../dependencies.ts';
import { mayAct, readRole } from '../people/roles.ts';
import type { ApiKey, RefundBatch } from '../platform/database.ts';
import type { RefundRequest } from '../refunds/lifecycle/decide.ts';
import { refundRequestedBy } from '../refunds/requests/key-requests.ts';
import type { RowContent } from './batch.ts';

/** Who requests the refunds of a batch, as they are now. */
export type Requester = { apiKey: ApiKey } | { userId: string };

/**
 * The requester of a batch, read anew.
 * @returns null for a key that is revoked, expired, stopped or lacks the scope, and for a user who is disabled or no operator any more.
 */
export async function readRequester(
  { db, clock }: Pick<Dependencies, 'db' | 'clock'>,
  { actor, organizationId, environment }: Pick<RefundBatch, 'actor' | 'organizationId' | 'environment'>,
): Promise<Requester | null> {
  const [kind, id = ''] = actor.split(':');
  if (kind === 'user') {
    const user = await db.user.findUnique({ where: { id }, select: { disabledAt: true } });
    const role = user?.disabledAt === null ? await readRole(db, organizationId, id) : null;
    return role !== null && mayAct(role, 'operator') ? { userId: id } : null;
  }
  const apiKey = await db.apiKey.findUnique({ where: { id, organizationId, environment } });
  if (apiKey === null || apiKey.revokedAt !== null || apiKey.stoppedAt !== null) return null;
  const isValid = apiKey.expiresAt === null || apiKey.expiresAt > clock.now();
  return isValid && apiKey.scopes.includes('refunds:write') ? { apiKey } : null;
}

/**
 * The request of a row, the same each time. Keys that are derived contain a line break, so no client can name them.
 */
export function requestOfRow(
  { id, idempotencyKey: batchKey, actor, organizationId, environment }: RefundBatch,
  requester: Requester,
  number: number,
  { idempotencyKey, ...content }: RowContent,
): RefundRequest {
  const key = idempotencyKey ?? `batch\n${batchKey ?? id}\n${number}`;
  if ('apiKey' in requester) return refundRequestedBy(requester.apiKey, 'api', content, { key });
  const owner = { id: '', organizationId, environment, agentLimits: null };
  return { ...refundRequestedBy(owner, 'dashboard', content, { key }), apiKey: null, actor };
}
