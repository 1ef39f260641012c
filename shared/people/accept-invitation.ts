import type { DatabaseTransaction } from '../platform/database.ts';
import { ServiceError } from '../platform/errors.ts';
import { lockOrganization } from '../platform/organization.ts';
import { actorOf, readRole } from './acting.ts';
import { alreadyMember } from './find-members.ts';
import { findInvitation, type OpenInvitation, openAt } from './invitations.ts';
import { insertMembership } from './members.ts';
import type { PasswordDependencies } from './passwords.ts';
import { holdSession, type Proof } from './sessions.ts';
import { insertUser, prepareUser, refusingTakenEmail } from './users.ts';

/**
 * Accepts an invitation for a person who has no user yet: the user is made with the address that was invited.
 * @throws ServiceError not_found when it is used, revoked or over; validation_error for a password that will not do, or
 * an address that has a user already, who has to sign in first; service_unavailable.
 * @returns with what the person is signed in.
 */
export async function acceptAsNewPerson(
  deps: Pick<PasswordDependencies, 'db' | 'clock' | 'hashingTurns'>,
  { token, password }: { token: string; password: string },
): Promise<Proof> {
  // Hashing costs something, and is done for nobody who has no invitation.
  const { email } = await requireInvitation(deps, token);
  const user = await prepareUser(deps, { email, password });
  await refusingTakenEmail(() =>
    acceptOnce(deps, token, async (tx, { organizationId, role }, now) => {
      const actor = actorOf({ userId: user.id });
      await insertUser(tx, user, { organizationId, role, actor }, now);
    }),
  );
  return { userId: user.id, passwordHash: user.passwordHash };
}

/**
 * Accepts an invitation for a person who is signed in, and still is when it is accepted.
 * @param request.sid of the session.
 * @throws ServiceError not_found when it is used, revoked or over; insufficient_scope when another address was invited, or
 * the session has ended; validation_error for a member.
 */
export async function acceptAsUser(
  deps: Pick<PasswordDependencies, 'db' | 'clock'>,
  { token, userId, sid }: { token: string; userId: string; sid: string },
): Promise<void> {
  await acceptOnce(deps, token, async (tx, { organizationId, email, role }, now) => {
    await holdSession(tx, { sid, userId, now });
    const user = await tx.user.findUnique({ where: { id: userId } });
    if (user?.email !== email) {
      const message = `This invitation is for ${email}. Sign in with that address.`;
      throw new ServiceError('insufficient_scope', message);
    }
    if ((await readRole(tx, organizationId, userId)) !== null) throw alreadyMember();
    const actor = actorOf({ userId });
    await insertMembership(tx, { organizationId, userId, email, role, actor }, now);
  });
}

/** Of all who accept the same invitation one does; what it is accepted for is stored together with that. */
async function acceptOnce(
  { db, clock }: Pick<PasswordDependencies, 'db' | 'clock'>,
  token: string,
  join: (tx: DatabaseTransaction, invitation: OpenInvitation, now: Date) => Promise<void>,
): Promise<void> {
  const now = clock.now();
  await db.$transaction(async (tx) => {
    const invitation = await requireInvitation({ db: tx, clock }, token);
    const { id, organizationId } = invitation;
    await lockOrganization(tx, organizationId);
    const { count } = await tx.invitation.updateMany({
      where: { id, ...openAt(now) },
      data: { acceptedAt: now },
    });
    if (count === 0) throw noLongerOpen();
    await join(tx, invitation, now);
  });
}

async function requireInvitation(
  deps: Parameters<typeof findInvitation>[0],
  token: string,
): Promise<OpenInvitation> {
  const invitation = await findInvitation(deps, token);
  if (invitation === null) throw noLongerOpen();
  return invitation;
}

function noLongerOpen(): ServiceError {
  const message = 'This invitation was used or revoked, or its time is over. Ask for a new one.';
  return new ServiceError('not_found', message);
}
