import { createHash, randomBytes } from 'node:crypto';
import { writeAudit, writeAudits } from '../platform/audit-log.ts';
import type { Database, DatabaseTransaction, Invitation, Prisma, Role } from '../platform/database.ts';
import type { PlatformDependencies } from '../platform/dependencies.ts';
import { ServiceError } from '../platform/errors.ts';
import { newId } from '../platform/ids.ts';
import { lockOrganization } from '../platform/organization.ts';
import { type Acting, actorOf, requireManaging } from './acting.ts';
import { checkedEmail } from './email.ts';
import { alreadyMember } from './find-members.ts';

const openMs = 7 * 24 * 60 * 60 * 1000;

const neitherAcceptedNorRevoked = { acceptedAt: null, revokedAt: null } as const;

/** True of an invitation that can be accepted. */
export function openAt(now: Date) {
  return { ...neitherAcceptedNorRevoked, expiresAt: { gt: now } };
}

/** An invitation as it may be shown: without the hash of its token. */
export type InvitationSummary = Omit<Invitation, 'tokenHash'>;

/**
 * Invites an address to become a member, for seven days. An open invitation of the address is replaced. The token exists
 * in the answer alone; whoever has it can accept.
 * @throws ServiceError validation_error for what is no address, or a member's; insufficient_scope when the acting person
 * may not give the role, or not revoke the invitation that is open.
 */
export async function invite(
  deps: Pick<PlatformDependencies, 'db' | 'clock'>,
  request: { organizationId: string; acting: Acting; email: string; role: Role },
): Promise<{ id: string; token: string; expiresAt: Date }> {
  const { organizationId, acting, role } = request;
  const email = checkedEmail(request.email);
  // The prefix lets logs recognize a token, and mask it.
  const token = `invite_${randomBytes(32).toString('base64url')}`;
  const id = newId('inv');
  const now = deps.clock.now();
  const expiresAt = new Date(now.getTime() + openMs);
  await deps.db.$transaction(async (tx) => {
    await lockOrganization(tx, organizationId);
    const earlier = await tx.invitation.findFirst({
      where: { organizationId, email, ...neitherAcceptedNorRevoked },
    });
    const isOpen = earlier !== null && earlier.expiresAt > now;
    await requireManaging(tx, organizationId, acting, isOpen ? [role, earlier.role] : [role]);
    const members = await tx.membership.count({ where: { organizationId, user: { email } } });
    if (members > 0) throw alreadyMember();
    // There can be one per address that was neither accepted nor revoked, however long ago.
    if (earlier !== null) {
      await tx.invitation.update({ where: { id: earlier.id }, data: { revokedAt: now } });
    }
    const actor = actorOf(acting);
    const row = { id, organizationId, email, role, invitedBy: actor, createdAt: now, expiresAt };
    await tx.invitation.create({ data: { ...row, tokenHash: hashOf(token) } });
    const detail = { email, role, replaced: earlier?.id ?? null };
    await writeAudit(tx, { organizationId, actor, action: 'invitation.created', target: id, detail }, now);
  });
  return { id, token, expiresAt };
}

/** The invitations of an organization that can be accepted, the newest first. */
export async function listInvitations(
  { db, clock }: Pick<PlatformDependencies, 'db' | 'clock'>,
  organizationId: string,
): Promise<InvitationSummary[]> {
  return await db.invitation.findMany({
    where: { organizationId, ...openAt(clock.now()) },
    omit: { tokenHash: true },
    orderBy: [{ createdAt: 'desc' }, { id: 'desc' }],
  });
}

/**
 * Revokes an invitation. Doing it again, or after its time, changes nothing.
 * @throws ServiceError not_found for one of another organization; insufficient_scope when the acting person may not;
 * validation_error when it was accepted.
 */
export async function revokeInvitation(
  deps: Pick<PlatformDependencies, 'db' | 'clock'>,
  request: { organizationId: string; acting: Acting; invitationId: string },
): Promise<void> {
  const { organizationId, acting, invitationId: id } = request;
  const now = deps.clock.now();
  await deps.db.$transaction(async (tx) => {
    await lockOrganization(tx, organizationId);
    const invitation = await tx.invitation.findFirst({ where: { id, organizationId } });
    if (invitation === null) throw new ServiceError('not_found', 'No such invitation of this organization.');
    const { email, role, acceptedAt, revokedAt } = invitation;
    await requireManaging(tx, organizationId, acting, [role]);
    if (revokedAt !== null) return;
    if (acceptedAt !== null) {
      throw new ServiceError('validation_error', 'It was accepted already. Remove the member instead.');
    }
    await tx.invitation.update({ where: { id }, data: { revokedAt: now } });
    const entry = {
      organizationId,
      actor: actorOf(acting),
      action: 'invitation.revoked',
      target: id,
    } as const;
    await writeAudit(tx, { ...entry, detail: { email, role } }, now);
  });
}

/**
 * Revokes open invitations of an organization as a part of another act, each with its entry in the audit log. To be called
 * with the organization locked.
 * @param which of them.
 */
export async function revokeOpenInvitations(
  tx: DatabaseTransaction,
  which: Prisma.InvitationWhereInput & { organizationId: string },
  actor: string,
  now: Date,
): Promise<void> {
  const revoked = await tx.invitation.updateManyAndReturn({
    where: { ...which, ...openAt(now) },
    data: { revokedAt: now },
    select: { id: true, email: true, role: true },
  });
  const { organizationId } = which;
  const act = { organizationId, actor, action: 'invitation.revoked' } as const;
  const entries = revoked.map(({ id, email, role }) => ({ ...act, target: id, detail: { email, role } }));
  await writeAudits(tx, entries, now);
}

/** An invitation that can be accepted, for the page that its link leads to. */
export interface OpenInvitation extends InvitationSummary {
  organizationName: string;
}

/** Finds an invitation by its token; null when it is unknown, used, revoked or over. */
export async function findInvitation(
  { db, clock }: { db: Database | DatabaseTransaction; clock: PlatformDependencies['clock'] },
  token: string,
): Promise<OpenInvitation | null> {
  const found = await db.invitation.findUnique({
    where: { tokenHash: hashOf(token), ...openAt(clock.now()) },
    omit: { tokenHash: true },
    include: { organization: { select: { name: true } } },
  });
  if (found === null) return null;
  const { organization, ...invitation } = found;
  return { ...invitation, organizationName: organization.name };
}

function hashOf(token: string): Uint8Array<ArrayBuffer> {
  return Uint8Array.from(createHash('sha256').update(token).digest());
}
