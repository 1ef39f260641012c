import { actorOf } from '../../audit/actors.ts';
import { writeAudits } from '../../audit/audit-log.ts';
import { beginErasure, erasedText, erasureTimeoutMs } from '../../audit/erasure.ts';
import { maxFourEyesDays } from '../../organizations/organization-settings.ts';
import type { DatabaseTransaction, Stores } from '../../platform/database.ts';
import { ServiceError } from '../../platform/errors.ts';
import { endPendingDeliveries } from '../../webhooks/deliveries.ts';
import { normalizeEmail } from '../email.ts';
import { endAccess, lockOrganizationsOf, type UserChange } from './disable-user.ts';
import { type Created, endCreated } from './end-created.ts';
import { openAt } from './invitations.ts';

/** What a deletion did. */
export interface Deletion {
  /** Null when no user had the address. */
  userId: string | null;
  /** Whether providers of organizations have made further users with the address. */
  hasOthers: boolean;
  /** False when only open invitations had the address. */
  isErased: boolean;
  /** What the user created and that ended. */
  ended: Created;
  /** Webhook endpoints that go on: those of keys that had ended before. */
  remaining: Created;
  /** Open invitations of the address, which stay: they may be for the person whose address it is. */
  openInvitations: { id: string; organizationId: string }[];
}

/**
 * Deletes the user of an email address with memberships, sessions and everything else that belongs to the user, revokes the
 * user's API keys, disables the webhook endpoints that they created, and erases the address from the audit log and from
 * invitations that are no longer open. The user's id stays in timelines and the audit log.
 * @throws ServiceError not_found when nothing is stored about the address; validation_error for the last owner of an
 * organization, and for a user whose requests await approval.
 */
export async function deleteUser(deps: Stores, request: { email: string; actor: string }): Promise<Deletion> {
  const email = normalizeEmail(request.email);
  const { actor } = request;
  const now = deps.clock.now();
  const work = async (tx: DatabaseTransaction): Promise<Deletion> => {
    const users = await tx.user.findMany({
      where: { email },
      select: { id: true },
      orderBy: { companyOf: 'asc' },
    });
    const [found, ...others] = users;
    if (found !== undefined) await lockOrganizationsOf(tx, found.id);
    const [user] = await tx.$queryRaw<{ id: string }[]>`
      SELECT id FROM "user" WHERE id = ${found?.id ?? ''} FOR NO KEY UPDATE`;
    const userId = user?.id ?? null;
    const removed = userId === null ? nothingRemoved : await removeUser(tx, { userId, actor }, now);
    const mentioning = await eraseAddress(tx, email, now);
    const openInvitations = await tx.invitation.findMany({
      where: { email },
      select: { id: true, organizationId: true },
    });
    const concerned = [...new Set([...removed.joined, ...mentioning])];
    if (userId === null && concerned.length + openInvitations.length === 0) {
      throw new ServiceError('not_found', 'Nothing is stored about this address.');
    }
    const entry = { actor, action: 'user.deleted', target: userId ?? erasedText } as const;
    await writeAudits(
      tx,
      concerned.map((organizationId) => ({ organizationId, ...entry })),
      now,
    );
    return {
      userId,
      hasOthers: others.length > 0,
      isErased: userId !== null || concerned.length > 0,
      ended: removed.ended,
      remaining: removed.remaining,
      openInvitations,
    };
  };
  const deletion = await deps.db.$transaction(work, { timeout: erasureTimeoutMs });
  for (const { id } of deletion.ended.endpoints) await endPendingDeliveries(deps.db, id);
  return deletion;
}

/** What the deletion of a user did. */
interface Removal extends Pick<Deletion, 'ended' | 'remaining'> {
  /** The ids of the organizations that the user belonged to. */
  joined: string[];
}

const none: Created = { keys: [], endpoints: [] };
const nothingRemoved: Removal = { joined: [], ended: none, remaining: none };

async function removeUser(
  tx: DatabaseTransaction,
  { userId, actor }: UserChange,
  now: Date,
): Promise<Removal> {
  const joined = await endAccess(tx, { userId, actor }, now);
  await checkPendingRequests(tx, userId);
  // No one could approve what these keys request after the deletion.
  const created = await endCreated(tx, { userId, isKept: () => false, actor }, now);
  await tx.membership.deleteMany({ where: { userId } });
  await tx.user.delete({ where: { id: userId } });
  return { joined, ...created };
}

/** The most refunds that the error names. */
const mostNamed = 5;

/** No one could approve these refunds once the user is deleted: see `isRequesterDeleted` of four-eyes.ts. */
async function checkPendingRequests(tx: DatabaseTransaction, userId: string): Promise<void> {
  const pending = await tx.$queryRaw<{ id: string }[]>`
    SELECT id FROM refund WHERE requester = ${actorOf({ userId })} AND status = 'pending' ORDER BY id`;
  if (pending.length === 0) return;
  const named = pending.slice(0, mostNamed).map(({ id }) => id);
  const list = [...named, ...(pending.length > mostNamed ? ['...'] : [])].join(', ');
  throw new ServiceError(
    'validation_error',
    `Refunds that this user or their API keys requested await approval: ${pending.length} (${list}). Approve, reject or cancel them first.`,
  );
}

/**
 * Deletes the invitations of an email address that are no longer open, and erases the address from the audit log. Invitations
 * accepted in the last 90 days stay, without the address: they still connect two people.
 * @returns the ids of the organizations that had the address; some may occur more than once.
 */
async function eraseAddress(tx: DatabaseTransaction, email: string, now: Date): Promise<string[]> {
  await beginErasure(tx);
  const closed = { email, NOT: openAt(now) };
  const invited = await tx.invitation.findMany({ where: closed, select: { organizationId: true } });
  await tx.$executeRaw`
    UPDATE invitation SET email = ${erasedText}
    WHERE email = ${email} AND accepted_at > ${now}::timestamptz - make_interval(days => ${maxFourEyesDays})`;
  await tx.invitation.deleteMany({ where: closed });
  const mentioning = await tx.$queryRaw<{ organizationId: string }[]>`
    UPDATE audit_log SET detail = detail || jsonb_build_object('email', ${erasedText}::text)
    WHERE detail->>'email' = ${email} RETURNING organization_id AS "organizationId"`;
  return [...invited, ...mentioning].map(({ organizationId }) => organizationId);
}
