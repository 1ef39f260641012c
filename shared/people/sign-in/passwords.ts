import { randomBytes } from 'node:crypto';
import { hash, verify } from '@node-rs/argon2';
import { auditEverywhere } from '../../audit/audit-log.ts';
import { endLinks } from '../../notifications/links.ts';
import { type Database, isUniqueViolation, type User } from '../../platform/database.ts';
import { ServiceError } from '../../platform/errors.ts';
import type { HashingStores, HashLimiter, HashUse } from './hash-limiter.ts';
import { attempt, forgetFailures, lockedError, type RefusalLog } from './lockout.ts';
import { currentProof, endSessionsOf, lockSession, type Proof } from './sessions.ts';

/** argon2id, the library's default, at the cost that OWASP recommends: 19 MiB and two passes. */
const hashing = { memoryCost: 19_456, timeCost: 2, parallelism: 1 };

/** Allowed length of a password, in characters. */
export const passwordLength = { min: 12, max: 128 };

/** The person who sets a password, and the organizations, whose names are bad passwords. */
interface PasswordOwner {
  email: string;
  organizationNames: readonly string[];
}

/**
 * Checks a new password.
 * @param field the name of the field in the error message.
 * @throws ServiceError validation_error for a bad length, a password that is the email address or an organization's name,
 * and one that is easy to guess.
 */
export async function checkNewPassword(
  { email, organizationNames }: PasswordOwner,
  password: string,
  field = 'password',
): Promise<void> {
  const { min, max } = passwordLength;
  if (password.length < min || password.length > max) {
    throw new ServiceError('validation_error', `${field}: must be ${min} to ${max} characters.`);
  }
  const names = [email, ...organizationNames];
  if (names.some((name) => name.trim().toLowerCase() === password.trim().toLowerCase())) {
    const message = `${field}: must not be the email address or the name of the organization.`;
    throw new ServiceError('validation_error', message);
  }
  // Loaded only here: the lists take 2 MB and a tenth of a second.
  const { isEasyToGuess } = await import('./password-strength.ts');
  if (isEasyToGuess(password, names)) {
    const message = `${field}: is easy to guess. Use a longer one, such as four unrelated words.`;
    throw new ServiceError('validation_error', message);
  }
}

/** What a new password of a user must differ from. */
export async function ownerOf(
  { db }: { db: Database },
  { userId, email }: { userId: string; email: string },
): Promise<PasswordOwner> {
  const organizations = await db.organization.findMany({
    where: { memberships: { some: { userId } } },
    select: { name: true },
  });
  return { email, organizationNames: organizations.map(({ name }) => name) };
}

/**
 * Hashes a password to argon2's own text format.
 * @throws ServiceError rate_limited or service_unavailable when too many are being hashed.
 */
export async function hashPassword(
  { hashLimiter }: { hashLimiter: HashLimiter },
  password: string,
  use: HashUse,
): Promise<string> {
  return await hashLimiter(use, (inLane) => inLane(() => hash(password, hashing)));
}

/** Another hash each time, of a password that no one knows. It is random, so that nothing has to be hashed. */
export function hashOfNoPassword(): string {
  const random = (bytes: number) => randomBytes(bytes).toString('base64').replaceAll('=', '');
  return `$argon2id$v=19$m=${hashing.memoryCost},t=${hashing.timeCost},p=${hashing.parallelism}$${random(16)}$${random(32)}`;
}

/** Checks a password; takes equally long for an unknown user (null). Call it in a lane of the hash limiter. */
export async function verifyPassword(passwordHash: string | null, password: string): Promise<boolean> {
  return await verify(passwordHash ?? hashOfNoPassword(), password);
}

/**
 * Changes the password of a signed-in user and ends all sessions of that user, in one transaction; the caller starts a
 * new session. Wrong guesses of the current password lock this form, not the sign-in.
 * @param request.sid the session that makes the change; it must still exist.
 * @returns proof of the new password, to start a session with.
 * @throws ServiceError validation_error for a wrong current or an unsuitable new password; insufficient_scope when the
 * session has ended; rate_limited while the form is locked; not_found for an unknown user; service_unavailable.
 */
export async function changePassword(
  deps: HashingStores & RefusalLog,
  request: { userId: string; current: string; next: string; sid: string },
): Promise<Proof> {
  const { userId, current, next, sid } = request;
  const user = await deps.db.user.findUnique({ where: { id: userId } });
  if (user === null) throw new ServiceError('not_found', 'User not found.');
  await checkNewPassword(await ownerOf(deps, { userId, email: user.email }), next, 'next');
  await requireCurrent(deps, user, current);
  if (next === current) {
    throw new ServiceError('validation_error', 'next: must differ from the current password.');
  }
  const passwordHash = await hashPassword(deps, next, { lane: 'reserved', of: userId });
  const now = deps.clock.now();
  return await deps.db.$transaction(async (tx) => {
    // Compares with the verified hash, so that only one of two concurrent changes succeeds.
    const { count } = await tx.user.updateMany({
      where: { id: userId, passwordHash: user.passwordHash },
      data: { passwordHash },
    });
    if (count === 0) {
      throw new ServiceError('validation_error', 'current: the password was just changed. Sign in again.');
    }
    await lockSession(tx, { sid, userId, now });
    await endSessionsOf(tx, userId, null);
    await endLinks(tx, userId);
    await auditEverywhere(tx, { userId, action: 'user.password_changed' }, now);
    return await currentProof(tx, userId);
  });
}

/** @throws ServiceError validation_error for a wrong password; rate_limited while locked; service_unavailable. */
export async function requireCurrent(
  deps: HashingStores & RefusalLog,
  { id, passwordHash }: User,
  current: string,
): Promise<void> {
  const subject = { passwordInSessionOf: id };
  const result = await deps.hashLimiter({ lane: 'reserved', of: id }, (inLane) =>
    attempt(deps, { subject, userId: id }, () => inLane(() => verifyPassword(passwordHash, current))),
  );
  if (result.kind === 'locked') throw lockedError(result);
  if (result.kind === 'wrong') {
    throw new ServiceError('validation_error', 'current: the current password is incorrect.');
  }
}

/**
 * Sets a user's password as an operator, ends all sessions of the user and clears the lockouts.
 * @throws ServiceError validation_error for an unsuitable password, and for one of two users with an address when the other has a
 * password; service_unavailable.
 */
export async function resetPassword(
  deps: HashingStores,
  { user, password, actor }: { user: { userId: string; email: string }; password: string; actor: string },
): Promise<void> {
  const { userId } = user;
  await checkNewPassword(await ownerOf(deps, user), password);
  const passwordHash = await hashPassword(deps, password, { lane: 'open', of: userId });
  await deps.db.$transaction(async (tx) => {
    // Otherwise the password would be of no use to a user whom a provider made, without the provider.
    const change = { where: { id: userId }, data: { passwordHash, companyOf: '' } };
    await tx.user.update(change).catch((cause) => {
      if (!isUniqueViolation(cause)) throw cause;
      const message = 'email: another user signs in with this address and a password.';
      throw new ServiceError('validation_error', message, { cause });
    });
    await endSessionsOf(tx, userId, null);
    await endLinks(tx, userId);
    await forgetFailures(tx, { passwordInSessionOf: userId });
    await forgetFailures(tx, { signInCodeOf: userId });
    await forgetFailures(tx, { codeInSessionOf: userId });
    await auditEverywhere(tx, { userId, actor, action: 'user.password_reset' }, deps.clock.now());
  });
}
