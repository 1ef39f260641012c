import { writeAudit } from '../audit-log.ts';
import type { Database, DatabaseTransaction, Role } from '../db.ts';
import type { Dependencies } from '../dependencies.ts';
import { ServiceError } from '../errors.ts';
import { lockOrganization } from '../organizations/find-organization.ts';
import { type Acting, actorOf, readRole, requireManaging } from './acting.ts';
import { normalizeEmail } from './email.ts';
import { managedRoles, roles } from './roles.ts';
import { closeInvitations } from './users.ts';

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
export async function leastRoleInAll(db: Database, userId: string): Promise<Role | null> {
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

/**
 * Makes a person who has a user already a member of a further organization; the password stays what it is.
 * @returns the user's id, or null when the address has no user.
 * @throws ServiceError validation_error for a member, not_found for the organization.
 */
export async function addMember(
  deps: Pick<Dependencies, 'db' | 'clock'>,
  request: { organizationId: string; email: string; role: Role; actor: string },
): Promise<string | null> {
  const { organizationId, role, actor } = request;
  const email = normalizeEmail(request.email);
  const now = deps.clock.now();
  return await deps.db.$transaction(async (tx) => {
    await lockOrganization(tx, organizationId);
    const user = await tx.user.findUnique({ where: { email } });
    if (user === null) return null;
    if ((await readRole(tx, organizationId, user.id)) !== null) throw alreadyMember();
    await insertMembership(tx, { organizationId, userId: user.id, email, role, actor }, now);
    await closeInvitations(tx, organizationId, email, now);
    return user.id;
  });
}

/** Stores a membership of somebody who has a user, with the entry in the audit log. */
export async function insertMembership(
  tx: DatabaseTransaction,
  membership: { organizationId: string; userId: string; email: string; role: Role; actor: string },
  now: Date,
): Promise<void> {
  const { organizationId, userId, email, role, actor } = membership;
  await tx.membership.create({ data: { organizationId, userId, role, createdAt: now } });
  const entry = { organizationId, actor, action: 'member.added', target: userId } as const;
  await writeAudit(tx, { ...entry, detail: { email, role } }, now);
}

/** What is answered when somebody who is a member is to become one. */
export function alreadyMember(): ServiceError {
  return new ServiceError('validation_error', 'email: this person is a member already.');
}

/**
 * Gives a member another role. Owners alone make and change owners, admins manage everybody else, and nobody changes the
 * own role, so that an organization always keeps an owner. Open invitations to roles that the person may no longer give end.
 * @throws ServiceError insufficient_scope when the acting person may not; not_found for who is no member.
 */
export async function changeRole(
  deps: Pick<Dependencies, 'db' | 'clock'>,
  request: { organizationId: string; actingUserId: string; userId: string; role: Role },
): Promise<void> {
  const { organizationId, actingUserId, userId, role } = request;
  const acting = { userId: actingUserId };
  const now = deps.clock.now();
  await deps.db.$transaction(async (tx) => {
    await lockOrganization(tx, organizationId);
    const previous = await readMember(tx, organizationId, userId);
    await requireManaging(tx, organizationId, acting, [previous.role, role]);
    if (userId === actingUserId) {
      throw new ServiceError(
        'insufficient_scope',
        'Nobody changes the own role. Ask somebody else to do it.',
      );
    }
    if (role === previous.role) return;
    if (previous.role === 'owner') await requireAnotherOwner(tx, organizationId, userId);
    const where = { organizationId_userId: { organizationId, userId } };
    await tx.membership.update({ where, data: { role } });
    await revokeInvitationsOf(tx, organizationId, userId, managedRoles(role), now);
    const detail = { email: previous.email, from: previous.role, to: role };
    const entry = {
      organizationId,
      actor: actorOf(acting),
      action: 'member.role_changed',
      target: userId,
    } as const;
    await writeAudit(tx, { ...entry, detail }, now);
  });
}

/**
 * Takes somebody out of an organization; everybody may leave. Open invitations that the person made there end, too.
 * The user stays, because timelines and the audit log speak of it.
 * @throws ServiceError insufficient_scope when the acting person may not; not_found for who is no member;
 * validation_error for the last owner.
 */
export async function removeMember(
  deps: Pick<Dependencies, 'db' | 'clock'>,
  request: { organizationId: string; userId: string; acting: Acting },
): Promise<void> {
  const { organizationId, userId, acting } = request;
  const now = deps.clock.now();
  await deps.db.$transaction(async (tx) => {
    await lockOrganization(tx, organizationId);
    const { email, role } = await readMember(tx, organizationId, userId);
    const leaves = 'userId' in acting && acting.userId === userId;
    if (!leaves) await requireManaging(tx, organizationId, acting, [role]);
    if (role === 'owner') await requireAnotherOwner(tx, organizationId, userId);
    await tx.membership.delete({ where: { organizationId_userId: { organizationId, userId } } });
    await revokeInvitationsOf(tx, organizationId, userId, [], now);
    const entry = {
      organizationId,
      actor: actorOf(acting),
      action: 'member.removed',
      target: userId,
    } as const;
    await writeAudit(tx, { ...entry, detail: { email, role } }, now);
  });
}

/**
 * Ends the open invitations that a person made and may make no longer, which could bring the lost role back.
 * @param kept roles that the person may still give.
 */
async function revokeInvitationsOf(
  tx: DatabaseTransaction,
  organizationId: string,
  userId: string,
  kept: readonly Role[],
  now: Date,
): Promise<void> {
  const made = { organizationId, invitedBy: actorOf({ userId }), role: { notIn: [...kept] } };
  await tx.invitation.updateMany({
    where: { ...made, acceptedAt: null, revokedAt: null },
    data: { revokedAt: now },
  });
}

async function readMember(
  tx: DatabaseTransaction,
  organizationId: string,
  userId: string,
): Promise<{ email: string; role: Role }> {
  const where = { organizationId_userId: { organizationId, userId } };
  const membership = await tx.membership.findUnique({ where, include: { user: true } });
  if (membership === null) throw noSuchMember();
  return { email: membership.user.email, role: membership.role };
}

async function requireAnotherOwner(
  tx: DatabaseTransaction,
  organizationId: string,
  userId: string,
): Promise<void> {
  const others = await tx.membership.count({
    where: { organizationId, role: 'owner', userId: { not: userId } },
  });
  if (others > 0) return;
  const message = 'This is the only owner, and an organization keeps one. Make somebody else an owner first.';
  throw new ServiceError('validation_error', message);
}

function noSuchMember(): ServiceError {
  return new ServiceError('not_found', 'No such member of this organization.');
}
