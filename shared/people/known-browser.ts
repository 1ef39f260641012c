import { createHmac, hkdfSync, randomBytes, timingSafeEqual } from 'node:crypto';
import type { PlatformDependencies } from '../platform/dependencies.ts';
import type { Proof } from './sessions.ts';

/** For so long a browser is known after somebody has signed in with it. */
export const knownBrowserMs = 90 * 24 * 60 * 60 * 1000;

type Keeping = Pick<PlatformDependencies, 'clock'> & { settings: { ENCRYPTION_KEY: string } };

/** A browser at a desk that several people share knows those who signed in last, and its cookie stays short. */
const mostPeople = 3;
const separator = '~';

/**
 * What a browser keeps to show later who has signed in with it: of each person a tag, a random name, until when it holds,
 * and a signature that binds name and time to the person and the password. It opens nothing and names nobody; wrong
 * passwords of others do not lock it out.
 * @param shown what the browser has kept so far, which may be anything.
 */
export function withPerson(deps: Keeping, shown: string, proof: Proof): string {
  const tag = tagOf(deps, proof.userId);
  const name = randomBytes(16).toString('base64url');
  const until = (deps.clock.now().getTime() + knownBrowserMs).toString();
  const token = [tag, name, until, signatureOf(deps, proof, name, until)].join('.');
  const others = tokensIn(shown).filter((each) => !each.startsWith(`${tag}.`));
  return [token, ...others].slice(0, mostPeople).join(separator);
}

/** The name of a browser that this person has signed in with, under the password as it is now; null for any other. */
export function knownBrowserOf(deps: Keeping, shown: string, proof: Proof): string | null {
  const tag = tagOf(deps, proof.userId);
  const token = tokensIn(shown).find((each) => each.startsWith(`${tag}.`)) ?? '';
  const [, name = '', until = '', signature = ''] = token.split('.');
  const given = Buffer.from(signature);
  const right = Buffer.from(signatureOf(deps, proof, name, until));
  if (given.length !== right.length || !timingSafeEqual(given, right)) return null;
  return Number(until) > deps.clock.now().getTime() ? name : null;
}

/** Those that can be tokens: a browser may show anything, and what it shows is given back to it. */
function tokensIn(shown: string): string[] {
  const tokens = shown.split(separator, mostPeople);
  return tokens.filter((token) => /^[\w-]{16}\.[\w-]{22}\.\d{1,16}\.[\w-]{43}$/.test(token));
}

/** Tells the token of a person from those of others, also after a new password, and does not tell whose it is. */
function tagOf(deps: Keeping, userId: string): string {
  return createHmac('sha256', keyOf(deps)).update(userId).digest('base64url').slice(0, 16);
}

function signatureOf(deps: Keeping, { userId, passwordHash }: Proof, name: string, until: string): string {
  const bound = JSON.stringify([userId, passwordHash, name, until]);
  return createHmac('sha256', keyOf(deps)).update(bound).digest('base64url');
}

/** Of its own, so that nothing else that is signed can be taken for it. */
function keyOf({ settings }: Keeping): Buffer {
  const encryptionKey = Buffer.from(settings.ENCRYPTION_KEY, 'base64');
  return Buffer.from(hkdfSync('sha256', encryptionKey, '', 'dashboard known browsers', 32));
}
