import type { Dependencies } from '../dependencies.ts';
import { mayAct, readRole } from '../people/roles.ts';
import type { ApiKey, RefundBatch } from '../platform/database.ts';
import type { RefundRequest } from '../refunds/lifecycle/decide.ts';
import { refundRequestedBy } from '../refunds/requests/key-requests.ts';
import type { RowContent } from './batch.ts';

/** Who requests the refunds of a batch, as they are now. */
type Requester = { apiKey: ApiKey } | { userId: string };

/** The requester of a batch, whether or not they may still create refunds. */
export async function findRequester(
  db: Dependencies['db'],
  { actor, organizationId, environment }: Pick<RefundBatch, 'actor' | 'organizationId' | 'environment'>,
): Promise<Requester> {
  const [kind, id = ''] = actor.split(':');
  if (kind === 'user') return { userId: id };
  return { apiKey: await db.apiKey.findUniqueOrThrow({ where: { id, organizationId, environment } }) };
}

/** False for a key that is revoked, expired, stopped or lacks the scope, and for a user who is disabled or no operator any more. */
export async function mayRequest(
  { db, clock }: Pick<Dependencies, 'db' | 'clock'>,
  { organizationId }: Pick<RefundBatch, 'organizationId'>,
  requester: Requester,
): Promise<boolean> {
  if ('userId' in requester) {
    const { userId: id } = requester;
    const user = await db.user.findUnique({ where: { id }, select: { disabledAt: true } });
    const role = user?.disabledAt === null ? await readRole(db, organizationId, id) : null;
    return role !== null && mayAct(role, 'operator');
  }
  const { revokedAt, stoppedAt, expiresAt, scopes } = requester.apiKey;
  if (revokedAt !== null || stoppedAt !== null) return false;
  return (expiresAt === null || expiresAt > clock.now()) && scopes.includes('refunds:write');
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
