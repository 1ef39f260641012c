import { actorOf } from '../../audit/actors.ts';
import { type CreatedKey, createdKeys, revokeKeys } from '../../organizations/created-keys.ts';
import type { DatabaseTransaction } from '../../platform/database.ts';
import {
  type CreatedEndpoint,
  createdEndpoints,
  disableEndpoints,
} from '../../webhooks/created-endpoints.ts';

/** API keys that a person created, also with other keys, and webhook endpoints that such keys created. */
export interface Created {
  keys: CreatedKey[];
  endpoints: CreatedEndpoint[];
}

/**
 * Revokes the API keys of a person that are not kept, and disables the webhook endpoints that these keys created. Call it with the
 * organizations of the keys locked, and `endPendingDeliveries` for each of the endpoints after the transaction.
 * @param request.organizationId limits it to this organization.
 * @returns what ended, and what goes on: endpoints also of keys that had ended before.
 */
export async function endCreated(
  tx: DatabaseTransaction,
  request: {
    userId: string;
    organizationId?: string;
    isKept: (key: CreatedKey) => boolean;
    actor: string;
  },
  now: Date,
): Promise<{ ended: Created; remaining: Created }> {
  const { userId, organizationId = null, isKept, actor } = request;
  const creators = [actorOf({ userId })];
  const keys = await createdKeys(tx, creators, now, organizationId);
  const endpoints = await createdEndpoints(tx, creators, organizationId);
  const revoked = keys.filter((key) => !isKept(key));
  const revokedActors = new Set(revoked.map(({ id }) => `key:${id}`));
  const disabled = endpoints.filter(({ createdBy }) => revokedActors.has(createdBy));
  await revokeKeys(tx, revoked, actor, now);
  await disableEndpoints(tx, disabled, actor, now);
  return {
    ended: { keys: revoked, endpoints: disabled },
    remaining: {
      keys: keys.filter(isKept),
      endpoints: endpoints.filter((endpoint) => !disabled.includes(endpoint)),
    },
  };
}
