import { writeAudits } from '../audit/audit-log.ts';
import type { ApiKey, DatabaseTransaction } from '../platform/database.ts';

export type CreatedKey = Pick<
  ApiKey,
  'id' | 'organizationId' | 'environment' | 'name' | 'lastFour' | 'lastUsedAt'
> & {
  /** The one of the actors asked about that created it, directly or with another key. */
  creator: string;
};

/**
 * Finds the keys that actors created, also with keys that they created, and that work or can work again, oldest first.
 * @param creators `user:<id>` or `key:<id>`.
 * @param organizationId limits it to keys of this organization.
 */
export async function createdKeys(
  db: DatabaseTransaction,
  creators: readonly string[],
  now: Date,
  organizationId: string | null = null,
): Promise<CreatedKey[]> {
  return await db.$queryRaw<CreatedKey[]>`
    WITH RECURSIVE made AS (
      SELECT id, created_by AS creator FROM api_key WHERE created_by = ANY(${[...creators]})
      UNION
      SELECT key.id, made.creator FROM api_key AS key JOIN made ON key.created_by = 'key:' || made.id
    )
    SELECT key.id, key.organization_id AS "organizationId", key.environment::text, key.name, key.last_four AS "lastFour",
      key.last_used_at AS "lastUsedAt", made.creator
    FROM made JOIN api_key AS key ON key.id = made.id
    WHERE key.revoked_at IS NULL AND (key.expires_at IS NULL OR key.expires_at > ${now})
      AND (${organizationId}::text IS NULL OR key.organization_id = ${organizationId})
    ORDER BY key.created_at, key.id`;
}

/**
 * Revokes keys as part of another change, each with an audit entry. Call it with their organizations locked, so that none of
 * them creates another key meanwhile.
 * @returns the ids of those that were not revoked before.
 */
export async function revokeKeys(
  tx: DatabaseTransaction,
  keys: readonly Pick<CreatedKey, 'id'>[],
  actor: string,
  now: Date,
): Promise<string[]> {
  const revoked = await tx.apiKey.updateManyAndReturn({
    where: { id: { in: keys.map(({ id }) => id) }, revokedAt: null },
    data: { revokedAt: now },
    select: { id: true, organizationId: true, environment: true, lastFour: true },
  });
  const entries = revoked.map(({ id, organizationId, environment, lastFour }) => {
    const detail = { environment, lastFour };
    return { organizationId, actor, action: 'key.revoked', target: id, detail } as const;
  });
  await writeAudits(tx, entries, now);
  return revoked.map(({ id }) => id);
}
