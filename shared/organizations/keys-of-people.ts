import { writeAudits } from '../platform/audit-log.ts';
import type { ApiKey, DatabaseTransaction } from '../platform/database.ts';

/** An API key and the person behind it. */
export type PersonalKey = Pick<
  ApiKey,
  'id' | 'organizationId' | 'environment' | 'name' | 'lastFour' | 'lastUsedAt'
> & {
  /** `user:<id>`. */
  person: string;
};

/**
 * Finds the keys that people created, also through other keys of theirs, and that work or can work again, oldest first.
 * @param people as actors: `user:<id>`.
 * @param organizationId limits it to keys of this organization.
 */
export async function keysOfPeople(
  db: DatabaseTransaction,
  people: readonly string[],
  now: Date,
  organizationId: string | null = null,
): Promise<PersonalKey[]> {
  return await db.$queryRaw<PersonalKey[]>`
    WITH RECURSIVE made AS (
      SELECT id, created_by AS person FROM api_key WHERE created_by = ANY(${[...people]})
      UNION
      SELECT key.id, made.person FROM api_key AS key JOIN made ON key.created_by = 'key:' || made.id
    )
    SELECT key.id, key.organization_id AS "organizationId", key.environment::text, key.name, key.last_four AS "lastFour",
      key.last_used_at AS "lastUsedAt", made.person
    FROM made JOIN api_key AS key ON key.id = made.id
    WHERE key.revoked_at IS NULL AND (key.expires_at IS NULL OR key.expires_at > ${now})
      AND (${organizationId}::text IS NULL OR key.organization_id = ${organizationId})
    ORDER BY key.created_at, key.id`;
}

/** Revokes keys as part of another change, each with an audit entry. */
export async function revokeKeys(
  tx: DatabaseTransaction,
  keys: readonly Pick<PersonalKey, 'id'>[],
  actor: string,
  now: Date,
): Promise<void> {
  const revoked = await tx.apiKey.updateManyAndReturn({
    where: { id: { in: keys.map(({ id }) => id) }, revokedAt: null },
    data: { revokedAt: now },
    select: { id: true, organizationId: true, environment: true, lastFour: true },
  });
  const entries = revoked.map(({ id, organizationId, environment, lastFour }) => {
    return {
      organizationId,
      actor,
      action: 'key.revoked',
      target: id,
      detail: { environment, lastFour },
    } as const;
  });
  await writeAudits(tx, entries, now);
}
