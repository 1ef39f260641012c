import { createHmac, timingSafeEqual } from 'node:crypto';
import { actorOf } from '../../audit/actors.ts';
import { checkedOrganizationName, insertOrganization } from '../../organizations/create-organization.ts';
import type { Database, Stores } from '../../platform/database.ts';
import { ServiceError } from '../../platform/errors.ts';
import { networkOf } from '../../platform/network.ts';
import type { HashingStores } from '../sign-in/hash-limiter.ts';
import { attempt, lockedError, type RefusalLog } from '../sign-in/lockout.ts';
import { hashOfCode } from '../sign-in/one-time-passwords.ts';
import type { Proof } from '../sign-in/sessions.ts';
import { insertUser, prepareUser } from './users.ts';

/** 32 letters and digits that cannot be confused; each encodes five bits. */
const alphabet = 'ABCDEFGHJKLMNPQRSTUVWXYZ23456789';
const codeLength = 12;

/** Whether the installation has no user yet. */
export async function needsFirstOwner(db: Database): Promise<boolean> {
  return (await db.user.findFirst({ select: { id: true } })) === null;
}

/**
 * The code that allows creating the first owner, such as `7KQM-2XRA-HN4V`. It is derived from the encryption key, so that
 * all processes agree on it and only those who operate the installation can claim it.
 */
export function setupCode(encryptionKey: string): string {
  const digest = createHmac('sha256', encryptionKey).update('set-up of the first owner').digest();
  const letters = Array.from(digest.subarray(0, codeLength), (byte) => alphabet[byte % alphabet.length]);
  return letters.join('').replace(/.{4}(?=.)/g, '$&-');
}

/**
 * Creates an organization and its owner on an installation without users. One of several concurrent calls succeeds.
 * @returns proof of the password, to start a session with.
 * @throws ServiceError validation_error for a wrong code, an invalid field, or an installation that has a user;
 * rate_limited after too many wrong codes; service_unavailable.
 */
export async function createFirstOwner(
  deps: HashingStores & RefusalLog & { settings: { ENCRYPTION_KEY: string } },
  request: { code: string; organizationName: string; email: string; password: string; ip: string },
): Promise<Proof> {
  if (!(await needsFirstOwner(deps.db))) throw alreadySetUp();
  await requireCode(deps, request);
  const name = checkedOrganizationName(request.organizationName, 'organizationName');
  const user = await prepareUser(deps, request);
  const actor = actorOf({ userId: user.id });
  const now = deps.clock.now();
  await deps.db.$transaction(async (tx) => {
    // Blocks every other way to insert a user until the commit; reads go on.
    await tx.$executeRaw`LOCK TABLE "user" IN SHARE ROW EXCLUSIVE MODE`;
    if ((await tx.user.count()) > 0) throw alreadySetUp();
    const organizationId = await insertOrganization(tx, { name, actor }, now);
    await insertUser(tx, user, { organizationId, role: 'owner', actor }, now);
  });
  return { userId: user.id, passwordHash: user.passwordHash };
}

async function requireCode(
  deps: Stores & RefusalLog & { settings: { ENCRYPTION_KEY: string } },
  { code, ip }: { code: string; ip: string },
): Promise<void> {
  // Digests have the same length for any input.
  const expected = hashOfCode(setupCode(deps.settings.ENCRYPTION_KEY));
  const subject = { setUpCodeFrom: networkOf(ip) };
  const result = await attempt(deps, { subject, userId: null }, async () =>
    timingSafeEqual(hashOfCode(code), expected),
  );
  if (result.kind === 'locked') throw lockedError(result);
  if (result.kind === 'wrong') {
    throw new ServiceError('validation_error', 'code: is incorrect. Copy it from the API log.');
  }
}

function alreadySetUp(): ServiceError {
  const message = 'This installation is already set up. Sign in, or ask an owner for an invitation.';
  return new ServiceError('validation_error', message);
}
