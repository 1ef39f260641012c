import { isEmail, normalizeEmail } from './email.ts';
import { knownBrowserOf } from './known-browser.ts';
import { attempt, type RefusalLog } from './lockout.ts';
import { type PasswordDependencies, verifyPassword } from './passwords.ts';
import type { Proof } from './sessions.ts';

/** What became of an attempt to sign in. Neither a refusal nor a lock tells whether the address has a user. */
export type SignIn =
  | { kind: 'signed-in'; proof: Proof }
  | { kind: 'refused' }
  | { kind: 'locked'; retryAfterSeconds: number };

export type SignInDependencies = Pick<PasswordDependencies, 'db' | 'clock' | 'hashingTurns'> &
  RefusalLog & { settings: { ENCRYPTION_KEY: string } };

/**
 * Checks an address and a password. Five failures in a row lock the address for 30 s, each further one for twice as
 * long, up to an hour; meanwhile the right password is refused, too. Browsers in which the person has signed in before are
 * counted each by itself, and not locked with the address.
 * @param request.browser what a browser shows that says to be known.
 * @throws ServiceError service_unavailable when too many people sign in at once; then nothing was counted.
 */
export async function signIn(
  deps: SignInDependencies,
  request: { email: string; password: string; browser?: string | undefined },
): Promise<SignIn> {
  const email = normalizeEmail(request.email);
  return await deps.hashingTurns.take(async () => {
    // What cannot be an address may be something that the database does not take either.
    const user = isEmail(email) ? await deps.db.user.findUnique({ where: { email } }) : null;
    const proof = user === null ? null : { userId: user.id, passwordHash: user.passwordHash };
    const known = proof === null ? null : knownBrowserOf(deps, request.browser ?? '', proof);
    const tried = await attempt(
      deps,
      { subject: known === null ? { email } : { knownBrowser: known }, userId: user?.id ?? null },
      () => verifyPassword(proof?.passwordHash ?? null, request.password),
    );
    if (tried.kind === 'locked') return tried;
    return tried.kind === 'right' && proof !== null ? { kind: 'signed-in', proof } : { kind: 'refused' };
  });
}
