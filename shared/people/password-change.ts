import { auditEverywhere } from '../platform/audit-log.ts';
import type { User } from '../platform/database.ts';
import { ServiceError } from '../platform/errors.ts';
import { actorOf } from './acting.ts';
import { findMember } from './find-members.ts';
import { attempt, forgetFailures, lockedError, type RefusalLog } from './lockout.ts';
import { endSessionsOf } from './own-sessions.ts';
import { checkNewPassword, hashPassword, type PasswordDependencies, verifyPassword } from './passwords.ts';
import { type Proof, renameSession } from './sessions.ts';

/**
 * Changes the password of a person who is signed in, gives the session another id, and ends all other sessions of that
 * person: all of it or nothing. Wrong guesses of the current one lock this form, as they lock signing in, and nothing else.
 * @param request.sid of the session that stays, and still is there when the password is changed.
 * @param request.nextSid its id from then on.
 * @returns what shows that the person knows the new password.
 * @throws ServiceError validation_error when the current one is wrong or the new one will not do; insufficient_scope when
 * the session has ended; rate_limited while the form is locked; not_found for an unknown user; service_unavailable.
 */
export async function changePassword(
  deps: Pick<PasswordDependencies, 'db' | 'clock' | 'hashingTurns'> & RefusalLog,
  request: { userId: string; current: string; next: string; sid: string; nextSid: string },
): Promise<Proof> {
  const { userId, current, next, sid, nextSid } = request;
  const user = await deps.db.user.findUnique({ where: { id: userId } });
  if (user === null) throw new ServiceError('not_found', 'No such user.');
  checkNewPassword(user.email, next, 'next');
  await requireCurrent(deps, user, current);
  if (next === current) {
    throw new ServiceError('validation_error', 'next: has to be another one than the current password.');
  }
  const passwordHash = await hashPassword(deps, next);
  const now = deps.clock.now();
  await deps.db.$transaction(async (tx) => {
    // What was verified above is what is replaced: of two changes at the same moment one is made.
    const { count } = await tx.user.updateMany({
      where: { id: userId, passwordHash: user.passwordHash },
      data: { passwordHash },
    });
    if (count === 0) {
      throw new ServiceError('validation_error', 'current: it was changed meanwhile. Sign in again.');
    }
    await renameSession(tx, { sid, nextSid, userId, now });
    await endSessionsOf(tx, userId, nextSid);
    const act = { actor: actorOf({ userId }), action: 'user.password_changed', target: userId } as const;
    await auditEverywhere(tx, { userId, ...act }, now);
  });
  return { userId, passwordHash };
}

async function requireCurrent(
  deps: Pick<PasswordDependencies, 'db' | 'clock' | 'hashingTurns'> & RefusalLog,
  { id, passwordHash }: User,
  current: string,
): Promise<void> {
  const subject = { changingPasswordOf: id };
  const tried = await deps.hashingTurns.take(() =>
    attempt(deps, { subject, userId: id }, () => verifyPassword(passwordHash, current)),
  );
  if (tried.kind === 'locked') throw lockedError(tried);
  if (tried.kind === 'wrong') {
    throw new ServiceError('validation_error', 'current: not the current password.');
  }
}

/**
 * Gives a member another password, ends all sessions of that person, and lets the address sign in again at once.
 * @returns the user's id.
 * @throws ServiceError not_found for who is no member; validation_error for a password that will not do.
 */
export async function resetPassword(
  deps: Pick<PasswordDependencies, 'db' | 'clock' | 'hashingTurns'>,
  request: { organizationId: string; email: string; password: string; actor: string },
): Promise<string> {
  const { organizationId, password, actor } = request;
  const { userId, email } = await findMember(deps.db, organizationId, request.email);
  checkNewPassword(email, password);
  const passwordHash = await hashPassword(deps, password);
  await deps.db.$transaction(async (tx) => {
    await tx.user.update({ where: { id: userId }, data: { passwordHash } });
    await endSessionsOf(tx, userId, null);
    await forgetFailures(tx, { email });
    await forgetFailures(tx, { changingPasswordOf: userId });
    const act = { actor, action: 'user.password_reset', target: userId } as const;
    await auditEverywhere(tx, { userId, ...act }, deps.clock.now());
  });
  return userId;
}
