import type { Dependencies } from '../dependencies.ts';
import { mayAct, readRole } from '../people/roles.ts';
import type { ApiKey, RefundBatch } from '../platform/database.ts';
import type { RefundRequest } from '../refunds/lifecycle/decide.ts';
import { refundRequestedBy } from '../refunds/requests/key-requests.ts';
import type { RowContent } from './batch.ts';

/** Who requests the refunds of a batch, and whether they still may. */
type Requester = ({ apiKey: ApiKey } | { userId: string }) & { mayRequest: boolean };

/**
 * The requester of a batch, as they are now. A key that is revoked, expired, stopped or lacks the scope may request no more, nor may a
 * user who is disabled or no operator any more.
 */
export async function findRequester(
  { db, clock }: Pick<Dependencies, 'db' | 'clock'>,
  { actor, organizationId, environment }: Pick<RefundBatch, 'actor' | 'organizationId' | 'environment'>,
): Promise<Requester> {
  const [kind, id = ''] = actor.split(':');
  if (kind === 'user') {
    const user = await db.user.findUnique({ where: { id }, select: { disabledAt: true } });
    const role = user?.disabledAt === null ? await readRole(db, organizationId, id) : null;
    return { userId: id, mayRequest: role !== null && mayAct(role, 'operator') };
  }
  const apiKey = await db.apiKey.findUniqueOrThrow({ where: { id, organizationId, environment } });
  const { revokedAt, stoppedAt, expiresAt, scopes } = apiKey;
  const isActive =
    revokedAt === null && stoppedAt === null && (expiresAt === null || expiresAt > clock.now());
  return { apiKey, mayRequest: isActive && scopes.includes('refunds:write') };
}

/** The request of a row, the same each time. Keys that are derived contain a line break, so no client can name them. */
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
