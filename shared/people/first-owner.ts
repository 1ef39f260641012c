import { createHash, createHmac, timingSafeEqual } from 'node:crypto';
import { checkedOrganizationName, insertOrganization } from '../organizations/create-organization.ts';
import type { Database } from '../platform/database.ts';
import { ServiceError } from '../platform/errors.ts';
import { actorOf } from './acting.ts';
import { attempt, lockedError, type RefusalLog } from './lockout.ts';
import type { PasswordDependencies } from './passwords.ts';
import type { Proof } from './sessions.ts';
import { insertUser, prepareUser } from './users.ts';

/** Letters and digits that nobody takes for each other; 32 of them, so that each stands for five bits. */
const alphabet = 'ABCDEFGHJKLMNPQRSTUVWXYZ23456789';
const codeLength = 12;

/** True for a fresh installation: nobody can sign in yet. */
export async function needsFirstOwner(db: Database): Promise<boolean> {
  return (await db.user.findFirst({ select: { id: true } })) === null;
}

/**
 * The code that makes somebody the first owner, such as `7KQM-2XRA-HN4V`. It follows from the encryption key, so that
 * all processes agree on it, and a stranger who finds a fresh installation cannot take it over.
 */
export function setupCode(encryptionKey: string): string {
  const digest = createHmac('sha256', encryptionKey).update('set-up of the first owner').digest();
  const letters = Array.from(digest.subarray(0, codeLength), (byte) => alphabet[byte % alphabet.length]);
  return letters.join('').replace(/.{4}(?=.)/g, '$&-');
}

/**
 * Makes an organization and its owner on an installation that has no user. Of two people who do so at the same moment one
 * succeeds.
 * @returns with what the owner is signed in.
 * @throws ServiceError validation_error for a wrong code, for what is given, or when there is a user; rate_limited after
 * too many wrong codes; service_unavailable.
 */
export async function createFirstOwner(
  deps: Pick<PasswordDependencies, 'db' | 'clock' | 'hashingTurns'> &
    RefusalLog & { settings: { ENCRYPTION_KEY: string } },
  request: { code: string; organizationName: string; email: string; password: string },
): Promise<Proof> {
  if (!(await needsFirstOwner(deps.db))) throw alreadySetUp();
  await requireCode(deps, request.code);
  const name = checkedOrganizationName(request.organizationName, 'organizationName');
  const user = await prepareUser(deps, request);
  const actor = actorOf({ userId: user.id });
  const now = deps.clock.now();
  await deps.db.$transaction(async (tx) => {
    // Nobody else makes a user until this is done, in whatever way; reading goes on.
    await tx.$executeRaw`LOCK TABLE "user" IN SHARE ROW EXCLUSIVE MODE`;
    if ((await tx.user.count()) > 0) throw alreadySetUp();
    const organizationId = await insertOrganization(tx, { name, actor }, now);
    await insertUser(tx, user, { organizationId, role: 'owner', actor }, now);
  });
  return { userId: user.id, passwordHash: user.passwordHash };
}

async function requireCode(
  deps: Pick<PasswordDependencies, 'db' | 'clock'> & RefusalLog & { settings: { ENCRYPTION_KEY: string } },
  given: string,
): Promise<void> {
  const right = digestOf(setupCode(deps.settings.ENCRYPTION_KEY));
  const tried = await attempt(deps, { subject: 'first-owner', userId: null }, async () =>
    timingSafeEqual(digestOf(given), right),
  );
  if (tried.kind === 'locked') throw lockedError(tried);
  if (tried.kind === 'wrong') {
    throw new ServiceError('validation_error', 'code: not the set-up code of this installation.');
  }
}

/** Case, blanks and dashes do not count; digests are of the same length, whatever was given. */
function digestOf(code: string): Buffer {
  return createHash('sha256').update(code.toUpperCase().replace(/[\s-]/g, '')).digest();
}

function alreadySetUp(): ServiceError {
  const message = 'This installation has been set up already. Sign in, or ask an owner for an invitation.';
  return new ServiceError('validation_error', message);
}
