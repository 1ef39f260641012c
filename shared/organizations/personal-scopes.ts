import { peopleBehind } from '../people/actors.ts';
import { mayAct } from '../people/roles.ts';
import type { ApiKey, DatabaseTransaction, Role } from '../platform/database.ts';
import { ServiceError } from '../platform/errors.ts';
import type { ApiKeyScope } from './api-keys.ts';

/**
 * What a key does in place of the person behind it, and the role that it takes. It ends with the person's role, even if the key goes on
 * with what a backend needs.
 */
const personalScopes: Readonly<Partial<Record<ApiKeyScope, Role>>> = {
  'refunds:approve': 'operator',
  'webhooks:manage': 'admin',
  'keys:manage': 'admin',
};

type OwnedKey = Pick<ApiKey, 'id' | 'organizationId'>;

/**
 * Checks that the person behind a key may still do what a scope allows. Keys of the command line have no such person.
 * @throws ServiceError insufficient_scope for a person who is disabled, no longer a member, or has too weak a role.
 */
export async function requirePersonBehind(
  db: DatabaseTransaction,
  key: OwnedKey,
  scope: ApiKeyScope,
): Promise<void> {
  const required = personalScopes[scope];
  if (required === undefined) return;
  const [role] = (await rolesBehind(db, key.organizationId, [key])).values();
  if (role === undefined || (role !== null && mayAct(role, required))) return;
  throw new ServiceError(
    'insufficient_scope',
    `The person who created this API key may no longer use ${scope}. Use a key that another member created.`,
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
  keys: readonly (OwnedKey & Pick<ApiKey, 'scopes'>)[],
): Promise<Map<string, ApiKeyScope[]>> {
  const roles = await rolesBehind(db, organizationId, keys);
  const ended = keys.map(({ id, scopes }) => {
    const role = roles.get(id);
    const lost = Object.entries(personalScopes).filter(
      ([scope, required]) =>
        role !== undefined && scopes.includes(scope) && !(role !== null && mayAct(role, required)),
    );
    return [id, lost.map(([scope]) => scope as ApiKeyScope)] as const;
  });
  return new Map(ended.filter(([, lost]) => lost.length > 0));
}

/** The roles of the people behind keys; null for one who is disabled or no member, no entry for a key without a person. */
async function rolesBehind(
  db: DatabaseTransaction,
  organizationId: string,
  keys: readonly OwnedKey[],
): Promise<Map<string, Role | null>> {
  const people = await peopleBehind(
    db,
    keys.map(({ id }) => `key:${id}`),
  );
  const users = keys.flatMap(({ id }) => {
    const person = people.get(`key:${id}`);
    return person?.startsWith('user:') ? [{ id, userId: person.slice(5) }] : [];
  });
  if (users.length === 0) return new Map();
  const members = await db.membership.findMany({
    where: { organizationId, userId: { in: users.map(({ userId }) => userId) }, user: { disabledAt: null } },
    select: { userId: true, role: true },
  });
  const roles = new Map(members.map(({ userId, role }) => [userId, role]));
  return new Map(users.map(({ id, userId }) => [id, roles.get(userId) ?? null]));
}
