import { createHmac, hkdfSync, randomBytes, timingSafeEqual } from 'node:crypto';
import type { Clock } from '../../platform/clock.ts';
import { type EncryptionSettings, encryptionKeys } from '../../platform/secrets/secrets.ts';
import type { Proof } from './sessions.ts';

/** How long a browser stays known after a sign-in. */
export const knownBrowserMs = 90 * 24 * 60 * 60 * 1000;

interface SigningDependencies {
  clock: Clock;
  settings: EncryptionSettings;
}

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
  const token = [name, expiry, signatureOf(deps.settings.ENCRYPTION_KEY, proof, name, expiry)].join('.');
  const others = tokensIn(remembered).filter((each) => nameIn(deps, each, proof) === null);
  return [token, ...others].slice(0, peoplePerBrowser).join(separator);
}

/** Not in a token, and allowed in a cookie. */
const separator = '~';

function tokensIn(remembered: string): string[] {
  return remembered.split(separator, peoplePerBrowser).filter((token) => token !== '');
}

/**
 * The name of a browser in which the user has signed in under the password of the proof; null for any other.
 * @param remembered the cookie of the browser.
 */
export function findKnownBrowser(deps: SigningDependencies, remembered: string, proof: Proof): string | null {
  const names = tokensIn(remembered).map((token) => nameIn(deps, token, proof));
  return names.find((name) => name !== null) ?? null;
}

function nameIn(deps: SigningDependencies, token: string, proof: Proof): string | null {
  const [name = '', expiry = '', signature = ''] = token.split('.', 3);
  const given = Buffer.from(signature);
  const isSigned = encryptionKeys(deps.settings).some((key) => {
    const expected = Buffer.from(signatureOf(key, proof, name, expiry));
    return given.length === expected.length && timingSafeEqual(given, expected);
  });
  if (!isSigned) return null;
  return Number(expiry) > deps.clock.now().getTime() ? name : null;
}

function signatureOf(
  encryptionKey: string,
  { userId, passwordHash }: Proof,
  name: string,
  expiry: string,
): string {
  const bound = JSON.stringify([userId, passwordHash, name, expiry]);
  return createHmac('sha256', keyOf(encryptionKey)).update(bound).digest('base64url');
}

/** A key of its own, so that signatures made for other purposes are invalid here. */
function keyOf(encryptionKey: string): Buffer {
  const key = Buffer.from(encryptionKey, 'base64');
  return Buffer.from(hkdfSync('sha256', key, '', 'dashboard known browsers', 32));
}
