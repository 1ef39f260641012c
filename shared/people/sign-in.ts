import { createHmac, hkdfSync, randomBytes, timingSafeEqual } from 'node:crypto';
import { isEmail, normalizeEmail } from './email.ts';
import type { PasswordDependencies } from './hash-limiter.ts';
import { attempt, type RefusalLog } from './lockout.ts';
import { verifyPassword } from './passwords.ts';
import type { Proof } from './sessions.ts';

/** The result of a sign-in. None of them reveals whether the address has a user. */
export type SignIn =
  | { kind: 'signed-in'; proof: Proof }
  | { kind: 'refused' }
  | { kind: 'locked'; retryAfterSeconds: number };

export type SignInDependencies = Pick<PasswordDependencies, 'db' | 'clock' | 'hashLimiter'> &
  RefusalLog & { settings: { ENCRYPTION_KEY: string } };

/**
 * Checks an email address and a password. Five consecutive failures lock the address for 30 s, and each further failure
 * doubles that, up to an hour. While locked, the correct password is refused too. Known browsers are counted separately.
 * @param request.browser the token of the browser.
 * @throws ServiceError service_unavailable when too many people sign in at once; the attempt is not counted.
 */
export async function signIn(
  deps: SignInDependencies,
  request: { email: string; password: string; browser?: string | undefined },
): Promise<SignIn> {
  const email = normalizeEmail(request.email);
  return await deps.hashLimiter(async () => {
    // An invalid address may contain characters that the database rejects.
    const user = isEmail(email)
      ? await deps.db.user.findUnique({ where: { email, disabledAt: null } })
      : null;
    const proof = user === null ? null : { userId: user.id, passwordHash: user.passwordHash };
    const knownBrowser = proof === null ? null : findKnownBrowser(deps, request.browser ?? '', proof);
    const result = await attempt(
      deps,
      { subject: knownBrowser === null ? { email } : { knownBrowser }, userId: user?.id ?? null },
      () => verifyPassword(proof?.passwordHash ?? null, request.password),
    );
    if (result.kind === 'locked') return result;
    return result.kind === 'right' && proof !== null ? { kind: 'signed-in', proof } : { kind: 'refused' };
  });
}

/** How long a browser stays known after a sign-in. */
export const knownBrowserMs = 90 * 24 * 60 * 60 * 1000;

type SigningDependencies = Pick<PasswordDependencies, 'clock'> & { settings: { ENCRYPTION_KEY: string } };

/**
 * A token for the cookie of a browser in which a user has signed in: a random name, an expiry, and a signature that binds both
 * to the user and the current password. It grants no access; it only keeps other people's wrong passwords from locking this
 * browser out.
 */
export function knownBrowserToken(deps: SigningDependencies, proof: Proof): string {
  const name = randomBytes(16).toString('base64url');
  const expiry = (deps.clock.now().getTime() + knownBrowserMs).toString();
  return [name, expiry, signatureOf(deps, proof, name, expiry)].join('.');
}

/** The name of the browser that last signed this user in, under the current password; null for any other. */
function findKnownBrowser(deps: SigningDependencies, token: string, proof: Proof): string | null {
  const [name = '', expiry = '', signature = ''] = token.split('.', 3);
  const given = Buffer.from(signature);
  const expected = Buffer.from(signatureOf(deps, proof, name, expiry));
  if (given.length !== expected.length || !timingSafeEqual(given, expected)) return null;
  return Number(expiry) > deps.clock.now().getTime() ? name : null;
}

function signatureOf(
  deps: SigningDependencies,
  { userId, passwordHash }: Proof,
  name: string,
  expiry: string,
): string {
  const bound = JSON.stringify([userId, passwordHash, name, expiry]);
  return createHmac('sha256', keyOf(deps)).update(bound).digest('base64url');
}

/** A key of its own, so that signatures made for other purposes are invalid here. */
function keyOf({ settings }: SigningDependencies): Buffer {
  const encryptionKey = Buffer.from(settings.ENCRYPTION_KEY, 'base64');
  return Buffer.from(hkdfSync('sha256', encryptionKey, '', 'dashboard known browsers', 32));
}
