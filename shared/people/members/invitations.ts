import { randomBytes } from 'node:crypto';
import { requireManaging } from '../../access/roles.ts';
import { type Acting, actorOf } from '../../audit/actors.ts';
import { writeAudit, writeAudits } from '../../audit/audit-log.ts';
import { noteInvitation, targetOfLink } from '../../notifications/links.ts';
import type { Clock } from '../../platform/clock.ts';
import type {
  Database,
  DatabaseTransaction,
  Invitation,
  Prisma,
  Role,
  Stores,
} from '../../platform/database.ts';
import { ServiceError } from '../../platform/errors.ts';
import { newId } from '../../platform/ids.ts';
import { changeOrganization } from '../../platform/organization.ts';
import { sha256 } from '../../platform/secrets/secrets.ts';
import { checkedEmail } from '../email.ts';

const lifeMs = 7 * 24 * 60 * 60 * 1000;

const neitherAcceptedNorRevoked = { acceptedAt: null, revokedAt: null } as const;

/** The database filter for open invitations. */
export function openAt(now: Date) {
  return { ...neitherAcceptedNorRevoked, expiresAt: { gt: now } };
}

/** An invitation without the hash of its token, for display. */
export type InvitationSummary = Omit<Invitation, 'tokenHash'>;

/** An open invitation, for the page of its link. */
export interface OpenInvitation extends InvitationSummary {
  organizationName: string;
}

/**
 * Invites an email address for seven days and replaces an open invitation of the address. The token is returned only
 * here; anyone who has it can accept.
 * @param request.isMailed whether a link with a token of its own is mailed to the address.
 * @throws ServiceError validation_error for an invalid address or a member's; insufficient_scope when the actor may not
 * grant the role, or not revoke the open invitation.
 */
export async function invite(
  deps: Stores,
  request: { organizationId: string; acting: Acting; email: string; role: Role; isMailed?: boolean },
): Promise<{ id: string; token: string; expiresAt: Date }> {
  const { organizationId, acting, role, isMailed = false } = request;
  const email = checkedEmail(request.email);
  // The prefix lets logs recognize and mask a token.
  const token = `invite_${randomBytes(32).toString('base64url')}`;
  const id = newId('inv');
  const now = deps.clock.now();
  const expiresAt = new Date(now.getTime() + lifeMs);
  await changeOrganization(deps.db, organizationId, async (tx) => {
    const earlier = await tx.invitation.findFirst({
      where: { organizationId, email, ...neitherAcceptedNorRevoked },
    });
    const isOpen = earlier !== null && earlier.expiresAt > now;
    await requireManaging(tx, organizationId, acting, isOpen ? [role, earlier.role] : [role]);
    await refuseMember(tx, { organizationId, email });
    // A unique index allows one such row per address, also when it has expired.
    if (earlier !== null) {
      await tx.invitation.update({ where: { id: earlier.id }, data: { revokedAt: now } });
    }
    const actor = actorOf(acting);
    const row = { id, organizationId, email, role, invitedBy: actor, createdAt: now, expiresAt };
    await tx.invitation.create({ data: { ...row, tokenHash: sha256(token) } });
    if (isMailed) await noteInvitation(tx, { id, organizationId });
    const detail = { email, role, replaced: earlier?.id ?? null };
    await writeAudit(tx, { organizationId, actor, action: 'invitation.created', target: id, detail }, now);
  });
  return { id, token, expiresAt };
}

/** @throws ServiceError validation_error for the address of a member. */
export async function refuseMember(
  tx: DatabaseTransaction,
  { organizationId, email }: { organizationId: string; email: string },
): Promise<void> {
  if ((await tx.membership.count({ where: { organizationId, user: { email } } })) > 0) throw alreadyMember();
}

/** The error for inviting or adding a user who is a member. */
export function alreadyMember(): ServiceError {
  return new ServiceError('validation_error', 'email: is already a member.');
}

/** The open invitations of an organization, the newest first. */
export async function listInvitations(
  { db, clock }: Stores,
  organizationId: string,
): Promise<InvitationSummary[]> {
  return await db.invitation.findMany({
    where: { organizationId, ...openAt(clock.now()) },
    omit: { tokenHash: true },
    orderBy: [{ createdAt: 'desc' }, { id: 'desc' }],
  });
}

/**
 * Revokes an invitation; repeating it changes nothing.
 * @throws ServiceError not_found for an unknown invitation or another organization's; insufficient_scope when the actor
 * may not; validation_error when it was accepted.
 */
export async function revokeInvitation(
  deps: Stores,
  request: { organizationId: string; acting: Acting; invitationId: string },
): Promise<void> {
  const { organizationId, acting, invitationId: id } = request;
  const actor = actorOf(acting);
  const now = deps.clock.now();
  await changeOrganization(deps.db, organizationId, async (tx) => {
    const invitation = await tx.invitation.findFirst({ where: { id, organizationId } });
    if (invitation === null) throw new ServiceError('not_found', 'Invitation not found.');
    const { email, role, acceptedAt, revokedAt } = invitation;
    await requireManaging(tx, organizationId, acting, [role]);
    if (revokedAt !== null) return;
    if (acceptedAt !== null) {
      const message = 'This invitation was already accepted. Remove the member instead.';
      throw new ServiceError('validation_error', message);
    }
    await tx.invitation.update({ where: { id }, data: { revokedAt: now } });
    const entry = { organizationId, actor, action: 'invitation.revoked', target: id } as const;
    await writeAudit(tx, { ...entry, detail: { email, role } }, now);
  });
}

/**
 * Revokes open invitations as part of another change, each with an audit entry. Call it with the organization locked.
 * @param which the invitations to revoke.
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

/** Finds an open invitation by its token; null when it is unknown, accepted, revoked or expired. */
export async function findInvitation(
  { db, clock }: { db: Database | DatabaseTransaction; clock: Clock },
  token: string,
): Promise<OpenInvitation | null> {
  const now = clock.now();
  const mailed = await targetOfLink(db, token, now);
  const found = await db.invitation.findUnique({
    where: { ...(mailed === null ? { tokenHash: sha256(token) } : { id: mailed }), ...openAt(now) },
    omit: { tokenHash: true },
    include: { organization: { select: { name: true } } },
  });
  if (found === null) return null;
  const { organization, ...invitation } = found;
  return { ...invitation, organizationName: organization.name };
}
