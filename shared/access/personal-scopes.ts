import { peopleBehind } from '../audit/actors.ts';
import type { ApiKey, DatabaseTransaction, Role } from '../platform/database.ts';
import { ServiceError } from '../platform/errors.ts';
import { mayAct } from './roles.ts';

/**
 * What a key does in place of the person behind it, and the role that it takes. It ends with the person's role, even if the key goes on
 * with what a backend needs.
 */
const personalScopes = {
  'refunds:approve': 'operator',
  'webhooks:manage': 'admin',
  'keys:manage': 'admin',
} satisfies Readonly<Record<string, Role>>;

export type PersonalScope = keyof typeof personalScopes;

/**
 * Checks that the person behind an actor may still do what a scope allows. Keys of the command line have no such person.
 * @param person.actor `key:<id>`, `user:<id>`, or an actor of the command line.
 * @throws ServiceError insufficient_scope for a person who is disabled, no longer a member, or has too weak a role.
 */
export async function requirePersonBehind(
  db: DatabaseTransaction,
  { organizationId, actor }: { organizationId: string; actor: string },
  scope: string,
): Promise<void> {
  const roles: Readonly<Record<string, Role>> = personalScopes;
  const required = roles[scope];
  if (required === undefined) return;
  const role = (await rolesBehind(db, organizationId, [actor])).get(actor);
  if (role === undefined || (role !== null && mayAct(role, required))) return;
  throw new ServiceError(
    'insufficient_scope',
    actor.startsWith('user:')
      ? `This requires the ${required} role. Ask an owner or admin.`
      : `The person who created this API key may no longer use ${scope}. Use a key that another member created.`,
  );
}

/**
 * The scopes of keys that have ended with the person behind them.
 * @param keys all of one organization.
 * @returns an entry for every key that has lost one.
 */
export async function endedScopes(
  db: DatabaseTransaction,
  organizationId: string,
  keys: readonly Pick<ApiKey, 'id' | 'scopes'>[],
): Promise<Map<string, string[]>> {
  const actors = keys.map(({ id }) => `key:${id}`);
  const roles = await rolesBehind(db, organizationId, actors);
  const ended = keys.map(({ id, scopes }) => {
    const role = roles.get(`key:${id}`);
    const lost = Object.entries(personalScopes).filter(
      ([scope, required]) =>
        role !== undefined && scopes.includes(scope) && !(role !== null && mayAct(role, required)),
    );
    return [id, lost.map(([scope]) => scope)] as const;
  });
  return new Map(ended.filter(([, lost]) => lost.length > 0));
}

/** The roles of the people behind actors; null for one who is disabled or no member, no entry for an actor without a person. */
async function rolesBehind(
  db: DatabaseTransaction,
  organizationId: string,
  actors: readonly string[],
): Promise<Map<string, Role | null>> {
  const people = [...(await peopleBehind(db, actors))].filter(([, person]) => person.startsWith('user:'));
  if (people.length === 0) return new Map();
  const userIds = people.map(([, person]) => person.slice(5));
  const members = await db.membership.findMany({
    where: { organizationId, userId: { in: userIds }, user: { disabledAt: null } },
    select: { userId: true, role: true },
  });
  const roles = new Map(members.map(({ userId, role }) => [`user:${userId}`, role]));
  return new Map(people.map(([actor, person]) => [actor, roles.get(person) ?? null]));
}
