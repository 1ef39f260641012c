import { writeAudit } from '../platform/audit-log.ts';
import type { DatabaseTransaction, Role } from '../platform/database.ts';
import type { PlatformDependencies } from '../platform/dependencies.ts';
import { ServiceError } from '../platform/errors.ts';
import { lockOrganization } from '../platform/organization.ts';
import { type Acting, actorOf, requireManaging } from './acting.ts';
import { noSuchMember } from './find-members.ts';
import { revokeOpenInvitations } from './invitations.ts';
import { managedRoles } from './roles.ts';

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

/**
 * Gives a member another role. Owners alone make and change owners, admins manage everybody else, and nobody changes the
 * own role, so that an organization always keeps an owner. Open invitations to roles that the person may no longer give end.
 * @throws ServiceError insufficient_scope when the acting person may not; not_found for who is no member.
 */
export async function changeRole(
  deps: Pick<PlatformDependencies, 'db' | 'clock'>,
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
    await revokeInvitationsOf(tx, { organizationId, userId, kept: managedRoles(role) }, acting, now);
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
  deps: Pick<PlatformDependencies, 'db' | 'clock'>,
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
    await revokeInvitationsOf(tx, { organizationId, userId, kept: [] }, acting, now);
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
 * @param made.kept roles that the person may still give.
 */
async function revokeInvitationsOf(
  tx: DatabaseTransaction,
  { organizationId, userId, kept }: { organizationId: string; userId: string; kept: readonly Role[] },
  acting: Acting,
  now: Date,
): Promise<void> {
  const made = { organizationId, invitedBy: actorOf({ userId }), role: { notIn: [...kept] } };
  await revokeOpenInvitations(tx, made, actorOf(acting), now);
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
