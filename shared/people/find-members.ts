import type { Database, DatabaseTransaction, Role } from '../platform/database.ts';
import { ServiceError } from '../platform/errors.ts';
import { normalizeEmail } from './email.ts';
import { roles } from './roles.ts';

/** The organizations of a person, by name. */
export async function organizationsOf(
  db: Database,
  userId: string,
): Promise<{ id: string; name: string; role: Role }[]> {
  const memberships = await db.membership.findMany({
    where: { userId },
    select: { role: true, organization: { select: { id: true, name: true } } },
    orderBy: [{ organization: { name: 'asc' } }, { organizationId: 'asc' }],
  });
  return memberships.map(({ role, organization }) => ({ ...organization, role }));
}

/** What a person may do in an organization, in one query; null for who is no member. */
export async function findMembership(
  db: Database,
  userId: string,
  organizationId: string,
): Promise<{ organizationName: string; role: Role } | null> {
  const [row] = await db.$queryRaw<{ organizationName: string; role: Role }[]>`
    SELECT organization.name AS "organizationName", membership.role::text AS role
    FROM membership JOIN organization ON organization.id = membership.organization_id
    WHERE membership.user_id = ${userId} AND membership.organization_id = ${organizationId}`;
  return row ?? null;
}

/** The role that somebody has in every organization that there is, the least of them; null for who is missing in one. */
export async function leastRoleInAll(db: DatabaseTransaction, userId: string): Promise<Role | null> {
  const [row] = await db.$queryRaw<{ isMissing: boolean; roles: Role[] }[]>`
    SELECT bool_or(membership.role IS NULL) AS "isMissing",
      array_agg(DISTINCT membership.role::text) FILTER (WHERE membership.role IS NOT NULL) AS roles
    FROM organization LEFT JOIN membership
      ON membership.organization_id = organization.id AND membership.user_id = ${userId}`;
  if (row === undefined || row.isMissing !== false) return null;
  return roles.findLast((role) => row.roles.includes(role)) ?? null;
}

/** A member as the others see it. */
export interface Member {
  userId: string;
  email: string;
  role: Role;
  /** When the person became a member. */
  since: Date;
}

/** The members of an organization, by address. */
export async function listMembers(db: Database, organizationId: string): Promise<Member[]> {
  const memberships = await db.membership.findMany({
    where: { organizationId },
    include: { user: { select: { email: true } } },
    orderBy: { user: { email: 'asc' } },
  });
  return memberships.map(({ userId, user, role, createdAt }) => ({
    userId,
    email: user.email,
    role,
    since: createdAt,
  }));
}

/**
 * Finds a member by address.
 * @throws ServiceError not_found.
 */
export async function findMember(
  db: DatabaseTransaction,
  organizationId: string,
  email: string,
): Promise<{ userId: string; email: string }> {
  const membership = await db.membership.findFirst({
    where: { organizationId, user: { email: normalizeEmail(email) } },
    include: { user: { select: { email: true } } },
  });
  if (membership === null) throw noSuchMember();
  return { userId: membership.userId, email: membership.user.email };
}

/** What is answered when somebody who is a member is to become one. */
export function alreadyMember(): ServiceError {
  return new ServiceError('validation_error', 'email: this person is a member already.');
}

/** What is answered about somebody who is no member. */
export function noSuchMember(): ServiceError {
  return new ServiceError('not_found', 'No such member of this organization.');
}
