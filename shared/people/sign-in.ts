import type { Dependencies } from '../dependencies.ts';
import { isEmail, normalizeEmail } from './email.ts';
import { countAttempt, forgetFailures, logRefusal, type RefusalLog } from './lockout.ts';
import { verifyPassword } from './passwords.ts';
import type { Proof } from './sessions.ts';

/** What became of an attempt to sign in. Neither a refusal nor a lock tells whether the address has a user. */
export type SignIn =
  | { kind: 'signed-in'; proof: Proof }
  | { kind: 'refused' }
  | { kind: 'locked'; retryAfterSeconds: number };

/**
 * Checks an address and a password. Five failures in a row lock the address for 30 s, each further one for twice as
 * long, up to an hour; meanwhile the right password is refused, too.
 * @throws ServiceError service_unavailable when too many people sign in at once; then nothing was counted.
 */
export async function signIn(
  deps: Pick<Dependencies, 'db' | 'clock' | 'hashingTurns'> & RefusalLog,
  request: { email: string; password: string },
): Promise<SignIn> {
  const email = normalizeEmail(request.email);
  return await deps.hashingTurns.take(async () => {
    // What cannot be an address may be something that the database does not take either.
    const user = isEmail(email) ? await deps.db.user.findUnique({ where: { email } }) : null;
    const subject = { email };
    const attempt = await countAttempt(deps, subject);
    const isRight =
      attempt.kind === 'counted' && (await verifyPassword(user?.passwordHash ?? null, request.password));
    if (user === null || !isRight) {
      logRefusal(deps, subject, attempt, user?.id ?? null);
      return attempt.kind === 'locked' ? attempt : { kind: 'refused' };
    }
    await forgetFailures(deps.db, { email });
    return { kind: 'signed-in', proof: { userId: user.id, passwordHash: user.passwordHash } };
  });
}
