import { type Database, type DatabaseTransaction, Prisma } from '../platform/database.ts';

/** Who makes a change: a user of the dashboard, or the command line (`cli:<user of the machine>`), which may do anything. */
export type Acting = { userId: string } | { administration: string };

/** The actor as stored in timelines and the audit log. */
export function actorOf(acting: Acting): string {
  return 'userId' in acting ? `user:${acting.userId}` : acting.administration;
}

const processNames: ReadonlyMap<string, string> = new Map([
  ['worker', 'Worker'],
  ['service', 'System'],
]);

/**
 * Finds display names for actors with at most one query.
 * @param actors from the organization's own records: `user:<id>`, `key:<id>`, `cli:<user>`, `worker`, `service`.
 * @returns an entry for every actor: a user's email address, a key's name and last four characters. Unknown actors and keys of
 * other organizations are returned unchanged. Users who are no longer members are marked, and deleted ones have no name.
 * @param options.isShort true to leave out the last characters of a key that has a name.
 */
export async function nameActors(
  db: Database,
  organizationId: string,
  actors: readonly string[],
  { isShort = false } = {},
): Promise<Map<string, string>> {
  const named = new Map(actors.map((actor) => [actor, nameWithoutLookup(actor)]));
  const userIds = idsAfter('user:', named.keys());
  const keyIds = idsAfter('key:', named.keys());
  if (userIds.length + keyIds.length === 0) return named;
  const found = await db.$queryRaw<{ actor: string; name: string }[]>(Prisma.sql`
    SELECT 'user:' || person.id AS actor,
      CASE WHEN membership.user_id IS NULL THEN person.email || ' (former member)' ELSE person.email END AS name
    FROM "user" AS person
      LEFT JOIN membership ON membership.user_id = person.id AND membership.organization_id = ${organizationId}
    WHERE person.id = ANY(${userIds})
    UNION ALL
    SELECT 'key:' || id,
      CASE WHEN name = '' THEN 'key ...' || last_four WHEN ${isShort} THEN name ELSE name || ', key ...' || last_four END
    FROM api_key
    WHERE organization_id = ${organizationId} AND id = ANY(${keyIds})`);
  for (const { actor, name } of found) named.set(actor, name);
  return named;
}

/**
 * Finds the person behind each actor with at most one query: for a key, the person who created it, also through other keys.
 * @returns an entry for every actor; an actor that is not a key maps to itself.
 */
export async function peopleBehind(
  db: DatabaseTransaction,
  actors: readonly string[],
): Promise<Map<string, string>> {
  const people = new Map(actors.map((actor) => [actor, actor]));
  if (idsAfter('key:', actors).length === 0) return people;
  const found = await db.$queryRaw<{ actor: string; person: string }[]>`
    SELECT actor, coalesce(key.created_by, requester) AS person
    FROM (SELECT actor, requester_of(actor) AS requester FROM unnest(${[...people.keys()]}::text[]) AS actor) AS each
    LEFT JOIN api_key AS key ON key.id = substr(requester, 5)`;
  for (const { actor, person } of found) people.set(actor, person);
  return people;
}

function nameWithoutLookup(actor: string): string {
  if (actor.startsWith('user:')) return 'Deleted user';
  const [, user] = /^cli:(.+)$/s.exec(actor) ?? [];
  return user === undefined ? (processNames.get(actor) ?? actor) : `${user} (command line)`;
}

function idsAfter(prefix: string, actors: Iterable<string>): string[] {
  return [...actors].filter((actor) => actor.startsWith(prefix)).map((actor) => actor.slice(prefix.length));
}
