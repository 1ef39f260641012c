import { type Database, Prisma } from '../platform/database.ts';

const wordsForProcesses: ReadonlyMap<string, string> = new Map([
  ['worker', 'the worker'],
  ['service', 'the service'],
]);

/**
 * Says in words who stands behind the actors of a page, in one query at most.
 * @param actors from the organization's own records: `user:<id>`, `key:<id>`, `cli:<user>`, `worker`, `service`.
 * @returns an entry for every one of them: a member's address, a key's last four characters; what is not known stands
 * for itself. Keys of other organizations are not known; people who acted here and have left are named, and said to
 * have left.
 */
export async function nameActors(
  db: Database,
  organizationId: string,
  actors: readonly string[],
): Promise<Map<string, string>> {
  const named = new Map(actors.map((actor) => [actor, wordsFor(actor)]));
  const userIds = idsAfter('user:', named.keys());
  const keyIds = idsAfter('key:', named.keys());
  if (userIds.length + keyIds.length === 0) return named;
  const found = await db.$queryRaw<{ actor: string; name: string }[]>(Prisma.sql`
    SELECT 'user:' || person.id AS actor,
      CASE WHEN membership.user_id IS NULL THEN person.email || ' (has left)' ELSE person.email END AS name
    FROM "user" AS person
      LEFT JOIN membership ON membership.user_id = person.id AND membership.organization_id = ${organizationId}
    WHERE person.id = ANY(${userIds})
    UNION ALL
    SELECT 'key:' || id, 'key ...' || last_four
    FROM api_key
    WHERE organization_id = ${organizationId} AND id = ANY(${keyIds})`);
  for (const { actor, name } of found) named.set(actor, name);
  return named;
}

function wordsFor(actor: string): string {
  const [, person] = /^cli:(.+)$/s.exec(actor) ?? [];
  return person === undefined ? (wordsForProcesses.get(actor) ?? actor) : `${person}, on the command line`;
}

function idsAfter(prefix: string, actors: Iterable<string>): string[] {
  return [...actors].filter((actor) => actor.startsWith(prefix)).map((actor) => actor.slice(prefix.length));
}
