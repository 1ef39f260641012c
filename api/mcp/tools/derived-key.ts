import { createHash } from 'node:crypto';
import type { ApiKey, Reads } from '../../../shared/platform/database.ts';

/**
 * The idempotency key of a call that gives none: the same for equal arguments of the same API key, until the refund is 24 hours
 * old. Keys stay bound to their refunds, so the next one is derived from the last one and its refund, and calls at the same
 * moment still derive the same.
 * @param fingerprint the SHA-256 of the arguments.
 */
export async function deriveIdempotencyKey(
  reads: Reads,
  apiKey: Pick<ApiKey, 'id' | 'organizationId' | 'environment'>,
  fingerprint: Uint8Array,
): Promise<string> {
  let key = derive(apiKey.id, Buffer.from(fingerprint).toString('hex'));
  for (
    let last = await findOld(reads, apiKey, key);
    last !== null;
    last = await findOld(reads, apiKey, key)
  ) {
    key = derive(key, last);
  }
  return key;
}

function derive(...parts: readonly string[]): string {
  return `mcp_${createHash('sha256').update(parts.join(' ')).digest('base64url')}`;
}

/** The id of the refund that the key is bound to, if it is 24 hours old. */
async function findOld(
  reads: Reads,
  { organizationId, environment }: Pick<ApiKey, 'organizationId' | 'environment'>,
  key: string,
): Promise<string | null> {
  const [row] = await reads.query<{ id: string }>(
    `SELECT id FROM refund WHERE organization_id = $1 AND environment = $2 AND idempotency_key = $3
       AND created_at <= service_time() - interval '24 hours'`,
    [organizationId, environment, key],
  );
  return row?.id ?? null;
}
