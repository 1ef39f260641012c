import { readRole } from '../../access/roles.ts';
import { actorOf } from '../../audit/actors.ts';
import type { DatabaseTransaction, Stores, User } from '../../platform/database.ts';
import { ServiceError } from '../../platform/errors.ts';
import { lockOrganization } from '../../platform/organization.ts';
import type { HashingStores } from '../sign-in/hash-limiter.ts';
import { endSessionsOf, lockSession, type Proof } from '../sign-in/sessions.ts';
import { alreadyMember, findInvitation, type OpenInvitation, openAt } from './invitations.ts';
import { insertMembership } from './members.ts';
import { insertUser, type NewUser, prepareUser, refusingTakenEmail, takenEmail } from './users.ts';

/**
 * Accepts an invitation and creates a user with the invited address. The link is no proof for other organizations, so a user
 * who has the address and belongs to one keeps it; users whom the provider of another organization created do not count. One who
 * belongs to none gets the new password.
 * @returns proof of the password, to start a session with.
 * @throws ServiceError not_found for an invitation that is not open; validation_error for an unsuitable password or an
 * address that has a user, who must sign in first; service_unavailable.
 */
export async function acceptAsNewUser(
  deps: HashingStores,
  { token, password }: { token: string; password: string },
): Promise<Proof> {
  // Checked before hashing, which is expensive.
  const { email, organizationName } = await requireInvitation(deps, token);
  const user = await prepareUser(deps, { email, password, organizationName });
  const userId = await refusingTakenEmail(() =>
    acceptOnce(deps, token, async (tx, { organizationId, role }, now) => {
      const abandoned = await takeOverAbandoned(tx, user, organizationId);
      const id = abandoned ?? user.id;
      const membership = { organizationId, role, actor: actorOf({ userId: id }) };
      if (abandoned === null) await insertUser(tx, user, membership, now);
      else await insertMembership(tx, { ...membership, userId: id, email }, now);
      return id;
    }),
  );
  return { userId, passwordHash: user.passwordHash };
}

/**
 * Sets the new password of the user who has the address and belongs to no organization, and removes the second factor. The id
 * stays, so that in an organization that the person rejoins, they are still who requested what they requested. Users whom the provider
 * of another organization created are not looked at. Of two, the one who signs in the same way is taken.
 * @returns the id of that user; null when no user has the address.
 * @throws ServiceError validation_error for a user who belongs to an organization or is disabled.
 */
async function takeOverAbandoned(
  tx: DatabaseTransaction,
  user: NewUser,
  organizationId: string,
): Promise<string | null> {
  const [found] = await tx.$queryRaw<Pick<User, 'id' | 'disabledAt'>[]>`
    SELECT id, disabled_at AS "disabledAt" FROM "user"
    WHERE email = ${user.email} AND company_of IN ('', ${organizationId}) ORDER BY company_of LIMIT 1 FOR NO KEY UPDATE`;
  if (found === undefined) return null;
  const { id: userId, disabledAt } = found;
  await replaceCredentials(tx, userId, { passwordHash: user.passwordHash, companyOf: '' });
  // Without a session the user can join no organization meanwhile.
  if (disabledAt !== null || (await tx.membership.count({ where: { userId } })) > 0) throw takenEmail();
  return userId;
}

/** Sets a locked user's password, removes the second factor and ends the sessions: they may be those of someone else. */
export async function replaceCredentials(
  tx: DatabaseTransaction,
  userId: string,
  credentials: Pick<NewUser, 'passwordHash' | 'companyOf'>,
): Promise<void> {
  await endSessionsOf(tx, userId, null);
  await tx.secondFactor.deleteMany({ where: { userId } });
  await tx.user.update({ where: { id: userId }, data: credentials });
}

/**
 * Accepts an invitation as a signed-in user.
 * @param request.sid the user's session; it must still exist.
 * @throws ServiceError not_found for an invitation that is not open; insufficient_scope when another address was invited
 * or the session has ended; validation_error for a member.
 */
export async function acceptAsUser(
  deps: Stores,
  { token, userId, sid }: { token: string; userId: string; sid: string },
): Promise<void> {
  await acceptOnce(deps, token, async (tx, { organizationId, email, role }, now) => {
    await lockSession(tx, { sid, userId, now });
    const user = await tx.user.findUnique({ where: { id: userId } });
    if (user?.email !== email) {
      const message = `This invitation is for ${email}. Sign in with that address.`;
      throw new ServiceError('insufficient_scope', message);
    }
    if ((await readRole(tx, organizationId, userId)) !== null) throw alreadyMember();
    const actor = actorOf({ userId });
    await insertMembership(tx, { organizationId, userId, email, role, actor }, now);
    return userId;
  });
}

/**
 * Marks the invitation accepted and runs `join` in one transaction; only one of several concurrent calls succeeds.
 * @param join returns the id of the user who joined.
 * @returns that id.
 */
async function acceptOnce(
  { db, clock }: Stores,
  token: string,
  join: (tx: DatabaseTransaction, invitation: OpenInvitation, now: Date) => Promise<string>,
): Promise<string> {
  const now = clock.now();
  return await db.$transaction(async (tx) => {
    const invitation = await requireInvitation({ db: tx, clock }, token);
    const { id, organizationId } = invitation;
    await lockOrganization(tx, organizationId);
    const { count } = await tx.invitation.updateMany({
      where: { id, ...openAt(now) },
      data: { acceptedAt: now },
    });
    if (count === 0) throw notOpen();
    const userId = await join(tx, invitation, now);
    await tx.invitation.update({ where: { id }, data: { acceptedBy: actorOf({ userId }) } });
    return userId;
  });
}

async function requireInvitation(
  deps: Parameters<typeof findInvitation>[0],
  token: string,
): Promise<OpenInvitation> {
  const invitation = await findInvitation(deps, token);
  if (invitation === null) throw notOpen();
  return invitation;
}

function notOpen(): ServiceError {
  const message = 'This invitation was already used or revoked, or has expired. Ask for a new one.';
  return new ServiceError('not_found', message);
}
