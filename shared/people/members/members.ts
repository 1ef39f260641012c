import { managedRoles, requireManaging } from '../../access/roles.ts';
import { type Acting, actorOf } from '../../audit/actors.ts';
import { writeAudit } from '../../audit/audit-log.ts';
import type { Database, DatabaseTransaction, Role, Stores } from '../../platform/database.ts';
import { ServiceError } from '../../platform/errors.ts';
import { changeOrganization } from '../../platform/organization.ts';
import { endPendingDeliveries } from '../../webhooks/deliveries.ts';
import { normalizeEmail } from '../email.ts';
import { type Created, endCreated } from './end-created.ts';
import { refuseMember, revokeOpenInvitations } from './invitations.ts';

/** A member as other members see it. */
export interface Member {
  userId: string;
  email: string;
  role: Role;
  /** When the user became a member. */
  since: Date;
  /** True while an operator keeps the user from signing in. */
  isDisabled: boolean;
  /** When the mail server refused the address for good; null while mails arrive. */
  mailRefusedAt: Date | null;
}

/** The members of an organization, by email address. */
export async function listMembers(db: Database, organizationId: string): Promise<Member[]> {
  const memberships = await db.membership.findMany({
    where: { organizationId },
    include: { user: { select: { email: true, disabledAt: true, mailRefusedAt: true } } },
    orderBy: { user: { email: 'asc' } },
  });
  return memberships.map(({ userId, user, role, createdAt }) => ({
    userId,
    email: user.email,
    role,
    since: createdAt,
    isDisabled: user.disabledAt !== null,
    mailRefusedAt: user.mailRefusedAt,
  }));
}

/**
 * Finds a member by email address.
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
  if (membership === null) throw memberNotFound();
  return { userId: membership.userId, email: membership.user.email };
}

function memberNotFound(): ServiceError {
  return new ServiceError('not_found', 'Member not found.');
}

/**
 * Stores a membership of an existing user, with the audit entry. Open invitations of the address are revoked, as by `insertUser`.
 * @throws ServiceError validation_error for the address of a member, and for a user whom another organization's provider signs in.
 */
export async function insertMembership(
  tx: DatabaseTransaction,
  membership: { organizationId: string; userId: string; email: string; role: Role; actor: string },
  now: Date,
): Promise<void> {
  const { organizationId, userId, email, role, actor } = membership;
  await refuseMember(tx, { organizationId, email });
  await tx.membership.create({ data: { organizationId, userId, role, createdAt: now } });
  await refuseCompanyAccounts(tx, { organizationId, userId });
  await revokeOpenInvitations(tx, { organizationId, email }, actor, now);
  const entry = { organizationId, actor, action: 'member.added', target: userId } as const;
  await writeAudit(tx, { ...entry, detail: { email, role } }, now);
}

/**
 * An administrator of the provider of another organization can sign in as the user. Call it after the membership is stored, which
 * locks the user.
 */
async function refuseCompanyAccounts(
  tx: DatabaseTransaction,
  { organizationId, userId }: { organizationId: string; userId: string },
): Promise<void> {
  const elsewhere = { userId, organizationId: { not: organizationId } };
  // Without the account, a user whom the provider made could sign in nowhere, and would keep the owner of the address out.
  const madeElsewhere = { id: userId, companyOf: { notIn: ['', organizationId] } };
  const accounts = await tx.companyAccount.count({ where: elsewhere });
  if (accounts + (await tx.user.count({ where: madeElsewhere })) === 0) return;
  const message =
    'Your user signs in with the account of another organization, and can belong to that one only. Sign out and open the link again, or ask for an invitation to another email address.';
  throw new ServiceError('validation_error', message);
}

/**
 * Changes a member's role. Only owners grant or revoke the role owner, and no one changes their own role, so that an
 * organization always has an owner. Open invitations of the member to roles that the new role may not grant are revoked.
 * @throws ServiceError insufficient_scope when the actor may not; not_found for a user who is not a member.
 */
export async function changeRole(
  deps: Stores,
  request: { organizationId: string; acting: { userId: string }; userId: string; role: Role },
): Promise<void> {
  const { organizationId, acting, userId, role } = request;
  const actor = actorOf(acting);
  const now = deps.clock.now();
  await changeOrganization(deps.db, organizationId, async (tx) => {
    const previous = await readMember(tx, organizationId, userId);
    await requireManaging(tx, organizationId, acting, [previous.role, role]);
    if (userId === acting.userId) {
      const message = 'You cannot change your own role. Ask another owner or admin.';
      throw new ServiceError('insufficient_scope', message);
    }
    if (role === previous.role) return;
    if (previous.role === 'owner') await requireAnotherOwner(tx, organizationId, userId);
    const { email, role: from } = previous;
    await applyRole(tx, { organizationId, userId, email, from, to: role, actor }, now);
  });
}

/** Stores a member's new role, with the audit entry. Open invitations of the member to roles that it may not grant are revoked. */
export async function applyRole(
  tx: DatabaseTransaction,
  change: { organizationId: string; userId: string; email: string; from: Role; to: Role; actor: string },
  now: Date,
): Promise<void> {
  const { organizationId, userId, email, from, to, actor } = change;
  const where = { organizationId_userId: { organizationId, userId } };
  await tx.membership.update({ where, data: { role: to } });
  const lost = { invitedBy: actorOf({ userId }), role: { notIn: [...managedRoles(to)] } };
  await revokeOpenInvitations(tx, { organizationId, ...lost }, actor, now);
  const entry = { organizationId, actor, action: 'member.role_changed', target: userId } as const;
  await writeAudit(tx, { ...entry, detail: { email, from, to } }, now);
}

/**
 * Removes a member, or lets a member leave, and revokes the member's open invitations. The user itself is kept, because
 * timelines and the audit log refer to it.
 * @param request.keptKeys the ids of the member's API keys that keep working, all unless given; others that the member created here are
 * revoked, also one that was created just before, and the webhook endpoints that they created disabled.
 * @returns what the member created here: what has ended, and what goes on.
 * @throws ServiceError insufficient_scope when the actor may not; not_found for a user who is not a member;
 * validation_error for the last owner.
 */
export async function removeMember(
  deps: Stores,
  request: {
    organizationId: string;
    userId: string;
    acting: Acting;
    keptKeys?: readonly string[] | 'all';
  },
): Promise<{ ended: Created; remaining: Created }> {
  const { organizationId, userId, acting, keptKeys = 'all' } = request;
  const actor = actorOf(acting);
  const now = deps.clock.now();
  const created = await changeOrganization(deps.db, organizationId, async (tx) => {
    const { email, role } = await readMember(tx, organizationId, userId);
    const leaves = 'userId' in acting && acting.userId === userId;
    if (!leaves) await requireManaging(tx, organizationId, acting, [role]);
    if (role === 'owner') await requireAnotherOwner(tx, organizationId, userId);
    await tx.membership.delete({ where: { organizationId_userId: { organizationId, userId } } });
    // They could otherwise restore the lost role.
    await revokeOpenInvitations(tx, { organizationId, invitedBy: actorOf({ userId }) }, actor, now);
    const entry = { organizationId, actor, action: 'member.removed', target: userId } as const;
    await writeAudit(tx, { ...entry, detail: { email, role } }, now);
    const isKept = ({ id }: { id: string }) => keptKeys === 'all' || keptKeys.includes(id);
    return await endCreated(tx, { userId, organizationId, isKept, actor }, now);
  });
  for (const { id } of created.ended.endpoints) await endPendingDeliveries(deps.db, id);
  return created;
}

/** @throws ServiceError not_found. */
export async function readMember(
  tx: DatabaseTransaction,
  organizationId: string,
  userId: string,
): Promise<{ email: string; role: Role }> {
  const where = { organizationId_userId: { organizationId, userId } };
  const membership = await tx.membership.findUnique({ where, include: { user: true } });
  if (membership === null) throw memberNotFound();
  return { email: membership.user.email, role: membership.role };
}

/**
 * Checks that an organization has another owner who can sign in. Call it with the organization locked.
 * @throws ServiceError validation_error.
 */
export async function requireAnotherOwner(
  tx: DatabaseTransaction,
  organizationId: string,
  userId: string,
): Promise<void> {
  if (await hasAnotherOwner(tx, organizationId, userId)) return;
  const message = 'An organization must keep at least one owner. Make another member an owner first.';
  throw new ServiceError('validation_error', message);
}

/** Whether an organization has another owner who can sign in. */
export async function hasAnotherOwner(
  tx: DatabaseTransaction,
  organizationId: string,
  userId: string,
): Promise<boolean> {
  const others = await tx.membership.count({
    where: { organizationId, role: 'owner', userId: { not: userId }, user: { disabledAt: null } },
  });
  return others > 0;
}
