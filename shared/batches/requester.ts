import { mayAct } from '../access/roles.ts';
import { apiKeyStatus } from '../organizations/api-keys.ts';
import type { ApiKey, RefundBatch, Stores } from '../platform/database.ts';
import type { RefundRequest } from '../refunds/lifecycle/decide.ts';
import { fingerprintOfCreation, refundRequestedBy } from '../refunds/requests/key-requests.ts';
import type { RowContent } from './batch.ts';

/** The key that requests the refunds of a batch, null for a user, and whether they still may. */
interface Requester {
  apiKey: ApiKey | null;
  mayRequest: boolean;
}

/**
 * The requester of a batch, as they are now. A key that is revoked, expired, stopped or lacks the scope may request no more, nor may a
 * user who is disabled or no operator any more.
 */
export async function findRequester(
  { db, clock }: Stores,
  { actor, organizationId, environment }: Pick<RefundBatch, 'actor' | 'organizationId' | 'environment'>,
): Promise<Requester> {
  const [kind, id = ''] = actor.split(':');
  if (kind === 'user') {
    const enabled = { organizationId, userId: id, user: { disabledAt: null } };
    const member = await db.membership.findFirst({ where: enabled });
    return { apiKey: null, mayRequest: member !== null && mayAct(member.role, 'operator') };
  }
  const apiKey = await db.apiKey.findUniqueOrThrow({ where: { id, organizationId, environment } });
  const isActive = apiKeyStatus(apiKey, clock.now()) === 'active';
  return { apiKey, mayRequest: isActive && apiKey.scopes.includes('refunds:write') };
}

/**
 * The request of a row, the same each time. Keys that are derived contain a line break, so no client can name them. All that is left is
 * the amount that a person was shown, if one was, and has the key of all that is left.
 */
export function requestOfRow(
  { id, idempotencyKey: batchKey, actor, organizationId, environment }: RefundBatch,
  { apiKey }: Pick<Requester, 'apiKey'>,
  number: number,
  { idempotencyKey, ...content }: RowContent,
): RefundRequest {
  const key = idempotencyKey ?? `batch\n${batchKey ?? id}\n${number}`;
  const owner = apiKey ?? { id: '', organizationId, environment, agentLimits: null };
  const { amount: _shown, ...ofRemaining } = content;
  const fingerprint = fingerprintOfCreation(content.remaining ? ofRemaining : content);
  const given = { key, fingerprint };
  return { ...refundRequestedBy(owner, apiKey ? 'api' : 'dashboard', content, given), apiKey, actor };
}
