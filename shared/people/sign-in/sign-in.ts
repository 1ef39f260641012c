import { createHmac, hkdfSync, randomBytes, timingSafeEqual } from 'node:crypto';
import ipaddr from 'ipaddr.js';
import { isEmail, normalizeEmail } from '../email.ts';
import type { Lane, PasswordDependencies } from './hash-limiter.ts';
import { type Attempt, attempt, type RefusalLog } from './lockout.ts';
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
 * Checks an email address and a password. Failures are counted per account and network address, per account, and per
 * address; while one of these is locked, the correct password is refused too, except in a known browser. A known browser
 * has a count of its own, which makes it unknown for a while. An invalid address or an empty password is not an attempt.
 * @param request.address the IP address; attempts without one are counted together.
 * @param request.browser the cookie of the browser.
 * @throws ServiceError service_unavailable when too many people sign in at once; the attempt is not counted.
 */
export async function signIn(
  deps: SignInDependencies,
  request: { email: string; password: string; address?: string; browser?: string | undefined },
): Promise<SignIn> {
  const email = normalizeEmail(request.email);
  // An invalid address may contain characters that the database rejects.
  if (!isEmail(email) || request.password === '') return { kind: 'refused' };
  const user = await deps.db.user.findUnique({ where: { email, disabledAt: null } });
  const userId = user?.id ?? null;
  const proof = user === null ? null : { userId: user.id, passwordHash: user.passwordHash };
  const checkIn = (lane: Lane) => () =>
    deps.hashLimiter(() => verifyPassword(proof?.passwordHash ?? null, request.password), lane);
  const knownBrowser = proof === null ? null : findKnownBrowser(deps, request.browser ?? '', proof);
  if (knownBrowser !== null) {
    const result = await attempt(deps, { subject: { knownBrowser }, userId }, checkIn('reserved'));
    if (result.kind !== 'locked') return outcomeOf(result, proof);
  }
  const address = networkOf(request.address ?? '');
  // A new password starts new counts.
  const account = `${email} ${proof?.passwordHash ?? ''}`;
  const subject = [{ account, address }, { account }, { address }];
  return outcomeOf(await attempt(deps, { subject, userId }, checkIn('open')), proof);
}

function outcomeOf(result: Attempt, proof: Proof | null): SignIn {
  if (result.kind === 'locked') return result;
  return result.kind === 'right' && proof !== null ? { kind: 'signed-in', proof } : { kind: 'refused' };
}

/** The /64 of an IPv6 address, all of which one site has to itself; an IPv4 address as it is. */
function networkOf(ip: string): string {
  if (!ipaddr.isValid(ip)) return ip;
  const address = ipaddr.process(ip);
  return address instanceof ipaddr.IPv6 ? address.parts.slice(0, 4).join(':') : address.toString();
}

/** How long a browser stays known after a sign-in. */
export const knownBrowserMs = 90 * 24 * 60 * 60 * 1000;

type SigningDependencies = Pick<PasswordDependencies, 'clock'> & { settings: { ENCRYPTION_KEY: string } };

/** How many people one browser remembers. */
const peoplePerBrowser = 5;

/**
 * The cookie of a browser in which a user has signed in: a token for that user, and those of the last few others. A token is
 * a random name, an expiry, and a signature that binds both to the user and the current password. It grants no access; it
 * only keeps other people's wrong passwords from locking this browser out.
 * @param remembered the cookie so far.
 */
export function knownBrowserCookie(deps: SigningDependencies, proof: Proof, remembered = ''): string {
  const name = randomBytes(16).toString('base64url');
  const expiry = (deps.clock.now().getTime() + knownBrowserMs).toString();
  const token = [name, expiry, signatureOf(deps, proof, name, expiry)].join('.');
  const others = tokensIn(remembered).filter((each) => nameIn(deps, each, proof) === null);
  return [token, ...others].slice(0, peoplePerBrowser).join(separator);
}

/** Not in a token, and allowed in a cookie. */
const separator = '~';

function tokensIn(remembered: string): string[] {
  return remembered.split(separator, peoplePerBrowser).filter((token) => token !== '');
}

/** The name of the browser when this user has signed in with it under the current password; null for any other. */
function findKnownBrowser(deps: SigningDependencies, remembered: string, proof: Proof): string | null {
  const names = tokensIn(remembered).map((token) => nameIn(deps, token, proof));
  return names.find((name) => name !== null) ?? null;
}

function nameIn(deps: SigningDependencies, token: string, proof: Proof): string | null {
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
