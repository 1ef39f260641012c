import { auditEverywhere } from '../../audit/audit-log.ts';
import { endLinks, mayResetPassword, notePasswordReset, targetOfLink } from '../../notifications/links.ts';
import type { Clock } from '../../platform/clock.ts';
import type { Database, DatabaseTransaction, Stores } from '../../platform/database.ts';
import { ServiceError } from '../../platform/errors.ts';
import { networkOf } from '../../platform/network.ts';
import { checkedEmail } from '../email.ts';
import type { HashingStores } from './hash-limiter.ts';
import { countRequest, type RefusalLog } from './lockout.ts';
import { checkNewPassword, hashPassword, ownerOf } from './passwords.ts';
import { endSessionsOf } from './sessions.ts';

/**
 * Has a link to set a new password mailed to an address. The result, the limits and the time are the same whether or not it has a user.
 * @throws ServiceError validation_error for an invalid address; rate_limited.
 */
export async function requestPasswordReset(
  deps: Stores & RefusalLog,
  request: { email: string; ip: string },
): Promise<void> {
  const email = checkedEmail(request.email);
  const subjects = [{ passwordResetsOf: email }, { passwordResetsFrom: networkOf(request.ip) }];
  await countRequest(deps, subjects);
  await notePasswordReset(deps.db, email);
}

/** A user who may set a new password; null when the link is unknown, used or expired, or its user may not use one any more. */
export async function findPasswordReset(
  { db, clock }: { db: Database | DatabaseTransaction; clock: Clock },
  token: string,
): Promise<{ userId: string; email: string } | null> {
  const id = await targetOfLink(db, token, clock.now());
  const [user = null] = await db.$queryRaw<{ userId: string; email: string }[]>`
    SELECT u.id AS "userId", u.email FROM "user" AS u WHERE u.id = ${id} AND ${mayResetPassword}`;
  return user;
}

/**
 * Sets the password of the user whom a mailed link names, ends all of the user's sessions and links. The second factor stays, with its
 * lockouts: the user signs in with both afterwards.
 * @throws ServiceError not_found for a link that is unknown, used or expired; validation_error for an unsuitable password;
 * service_unavailable.
 */
export async function setForgottenPassword(
  deps: HashingStores,
  { token, password }: { token: string; password: string },
): Promise<void> {
  const user = await findPasswordReset(deps, token);
  if (user === null) throw linkOver();
  const { userId } = user;
  await checkNewPassword(await ownerOf(deps, user), password);
  const passwordHash = await hashPassword(deps, password, { lane: 'open', of: userId });
  const now = deps.clock.now();
  await deps.db.$transaction(async (tx) => {
    // Locks the user, so that one of several concurrent uses, or of a sign-in with a company account, still finds the link.
    await tx.user.updateMany({ where: { id: userId }, data: { passwordHash } });
    if ((await findPasswordReset({ db: tx, clock: deps.clock }, token)) === null) throw linkOver();
    await endLinks(tx, userId);
    await endSessionsOf(tx, userId, null);
    await auditEverywhere(tx, { userId, action: 'user.password_reset' }, now);
  });
}

function linkOver(): ServiceError {
  return new ServiceError('not_found', 'This link was already used or has expired. Request a new one.');
}
