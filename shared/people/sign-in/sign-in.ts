import { networkOf } from '../../platform/network.ts';
import type { EncryptionSettings } from '../../platform/secrets/secrets.ts';
import { byAddress, isEmail, normalizeEmail } from '../email.ts';
import type { HashingStores, HashUse } from './hash-limiter.ts';
import { findKnownBrowser } from './known-browsers.ts';
import { type Attempt, type Attempted, attempt, type RefusalLog } from './lockout.ts';
import { verifyPassword } from './passwords.ts';
import type { Proof } from './sessions.ts';

/** The result of a sign-in. None of them reveals whether the email address has a user. */
export type SignIn =
  | { kind: 'signed-in'; proof: Proof }
  | { kind: 'refused' }
  | { kind: 'locked'; retryAfterSeconds: number };

interface SignInDependencies extends HashingStores, RefusalLog {
  settings: EncryptionSettings;
}

/**
 * Checks an email address and a password. Failures are counted per email address and network, per email address, and per
 * network; while one of these is locked, the correct password is refused too, except in a known browser. A known browser
 * has a count of its own, which makes it unknown for a while. Right passwords are limited as well, in known and in other
 * browsers of the user apart. An invalid email address or an empty password is not an attempt.
 * @param request.ip attempts without one are counted together.
 * @param request.browser the cookie of the browser.
 * @throws ServiceError rate_limited when too many attempts of the network, or in known browsers of the user, are under
 * way; service_unavailable when too many people sign in at once. Neither counts.
 */
export async function signIn(
  deps: SignInDependencies,
  request: { email: string; password: string; ip?: string; browser?: string | undefined },
): Promise<SignIn> {
  const email = normalizeEmail(request.email);
  // An invalid email address may contain characters that the database rejects.
  if (!isEmail(email) || request.password === '') return { kind: 'refused' };
  const user = await deps.db.user.findUnique({ where: { ...byAddress(email), disabledAt: null } });
  const userId = user?.id ?? null;
  const proof = user === null ? null : { userId: user.id, passwordHash: user.passwordHash };
  const tryAs = (use: HashUse, counting: Omit<Attempted, 'userId'>) =>
    deps.hashLimiter(use, (inLane) =>
      attempt(deps, { ...counting, userId }, () =>
        inLane(() => verifyPassword(proof?.passwordHash ?? null, request.password)),
      ),
    );
  const knownBrowser = proof === null ? null : findKnownBrowser(deps, request.browser ?? '', proof);
  if (proof !== null && knownBrowser !== null) {
    const successes = { signInsInKnownBrowsersOf: proof.userId };
    const use = { lane: 'reserved', of: proof.userId } as const;
    const result = await tryAs(use, { subject: { knownBrowser }, successes });
    if (result.kind !== 'locked') return outcomeOf(result, proof);
  }
  const network = networkOf(request.ip ?? '');
  // A new password starts new counts.
  const account = `${email} ${proof?.passwordHash ?? ''}`;
  const subject = [{ account, network }, { account }, { network }];
  const successes = { signInsInOtherBrowsersOf: account };
  return outcomeOf(await tryAs({ lane: 'open', of: network }, { subject, successes }), proof);
}

function outcomeOf(result: Attempt, proof: Proof | null): SignIn {
  if (result.kind === 'locked') return result;
  return result.kind === 'right' && proof !== null ? { kind: 'signed-in', proof } : { kind: 'refused' };
}
