import { createHmac, hkdfSync, randomBytes, timingSafeEqual } from 'node:crypto';
import type { Dependencies } from '../dependencies.ts';
import type { Proof } from './sessions.ts';

/** For so long a browser is known after somebody has signed in with it. */
export const knownBrowserMs = 90 * 24 * 60 * 60 * 1000;

type Keeping = Pick<Dependencies, 'clock'> & { settings: { ENCRYPTION_KEY: string } };

/**
 * What a browser keeps to show later that this person has signed in with it: a random name, until when it holds, and a
 * signature that binds both to the person and the password. It opens nothing; wrong passwords of others do not lock it out.
 */
export function knownBrowserToken(deps: Keeping, proof: Proof): string {
  const name = randomBytes(16).toString('base64url');
  const until = (deps.clock.now().getTime() + knownBrowserMs).toString();
  return [name, until, signatureOf(deps, proof, name, until)].join('.');
}

/** The name of a browser that this person has signed in with, under the password as it is now; null for any other. */
export function knownBrowserOf(deps: Keeping, token: string, proof: Proof): string | null {
  const [name = '', until = '', signature = ''] = token.split('.');
  const given = Buffer.from(signature);
  const right = Buffer.from(signatureOf(deps, proof, name, until));
  if (given.length !== right.length || !timingSafeEqual(given, right)) return null;
  return Number(until) > deps.clock.now().getTime() ? name : null;
}

/** With a key of its own, so that nothing else that is signed can be taken for it. */
function signatureOf(
  { settings }: Keeping,
  { userId, passwordHash }: Proof,
  name: string,
  until: string,
): string {
  const encryptionKey = Buffer.from(settings.ENCRYPTION_KEY, 'base64');
  const key = Buffer.from(hkdfSync('sha256', encryptionKey, '', 'dashboard known browsers', 32));
  return createHmac('sha256', key)
    .update(JSON.stringify([userId, passwordHash, name, until]))
    .digest('base64url');
}
