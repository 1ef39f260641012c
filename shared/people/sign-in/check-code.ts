import { auditEverywhere } from '../../audit/audit-log.ts';
import type { SecondFactor, Stores } from '../../platform/database.ts';
import { ServiceError } from '../../platform/errors.ts';
import type { EncryptionSettings, SecretBox } from '../../platform/secrets/secrets.ts';
import type { HashLimiter } from './hash-limiter.ts';
import { findKnownBrowser } from './known-browsers.ts';
import { attempt, type LockoutSubject, lockedError, type RefusalLog } from './lockout.ts';
import { hashOfCode, normalizedCode, stepOfCode } from './one-time-passwords.ts';
import { requireCurrent } from './passwords.ts';
import { secretContext } from './second-factor.ts';
import type { Proof } from './sessions.ts';

interface CodeDependencies extends Stores, RefusalLog {
  secrets: SecretBox;
}

/** The result of checking a code. */
type CodeCheck =
  /** With the time at which this second factor was enabled, for `Proof`. */
  | { kind: 'right'; secondFactorEnabledAt: Date }
  | { kind: 'wrong' }
  | { kind: 'locked'; retryAfterSeconds: number };

/**
 * Checks the code that a sign-in asks for after the password. Wrong codes in a known browser of the user count for that
 * browser alone: someone who knows the password cannot lock the user out of it.
 * @param request.browser the cookie of the browser.
 */
export async function checkSignInCode(
  deps: CodeDependencies & { settings: EncryptionSettings },
  { proof, code, browser }: { proof: Proof; code: string; browser: string | undefined },
): Promise<CodeCheck> {
  const { userId } = proof;
  const knownBrowser = findKnownBrowser(deps, browser ?? '', proof);
  const subject =
    knownBrowser === null ? { signInCodeOf: userId } : { signInCodeInKnownBrowser: knownBrowser };
  return await checkCode(deps, { userId, code, subject });
}

/**
 * Checks a code of a user's authenticator app, or a recovery code, and uses it up. Five consecutive wrong ones lock the
 * subject for 30 s, and each further one doubles that, up to an hour.
 * @returns wrong also for a code that was used before, and for a user without a second factor.
 */
async function checkCode(
  deps: CodeDependencies,
  { userId, code, subject }: { userId: string; code: string; subject: LockoutSubject },
): Promise<CodeCheck> {
  const factor = await deps.db.secondFactor.findUnique({ where: { userId } });
  if (factor === null) return { kind: 'wrong' };
  const result = await attempt(deps, { subject, userId }, () => useUp(deps, factor, normalizedCode(code)));
  return result.kind === 'right' ? { ...result, secondFactorEnabledAt: factor.enabledAt } : result;
}

async function useUp(deps: CodeDependencies, factor: SecondFactor, code: string): Promise<boolean> {
  return /^\d{6}$/.test(code)
    ? await useOneTimePassword(deps, factor, code)
    : await useRecoveryCode(deps, factor, code);
}

/** The guard on the last step lets one of several concurrent uses succeed. */
async function useOneTimePassword(
  { db, clock, secrets }: CodeDependencies,
  { userId, enabledAt, encryptedSecret: bytes, encryptionKeyId: keyId }: SecondFactor,
  code: string,
): Promise<boolean> {
  const step = stepOfCode(secrets.open({ keyId, bytes }, secretContext(userId)), code, clock.now());
  if (step === null) return false;
  const { count } = await db.secondFactor.updateMany({
    where: { userId, enabledAt, lastStep: { lt: step } },
    data: { lastStep: step },
  });
  return count === 1;
}

async function useRecoveryCode(
  { db, clock }: CodeDependencies,
  { userId, enabledAt }: SecondFactor,
  code: string,
): Promise<boolean> {
  const hash = hashOfCode(code);
  return await db.$transaction(async (tx) => {
    const count = await tx.$executeRaw`
      UPDATE second_factor SET recovery_hashes = array_remove(recovery_hashes, ${hash}::bytea)
      WHERE user_id = ${userId} AND enabled_at = ${enabledAt} AND ${hash}::bytea = ANY(recovery_hashes)`;
    if (count === 0) return false;
    await auditEverywhere(tx, { userId, action: 'user.recovery_code_used' }, clock.now());
    return true;
  });
}

/**
 * Confirms that a signed-in user is still the person at the session: by a code, or without a second factor by the
 * password. Wrong guesses lock confirmations, not the sign-in.
 * @throws ServiceError validation_error for a wrong code or password; rate_limited while locked; service_unavailable.
 */
export async function confirmUser(
  deps: CodeDependencies & { hashLimiter: HashLimiter },
  { userId, code, password }: { userId: string; code: string; password: string },
): Promise<void> {
  const user = await deps.db.user.findUniqueOrThrow({
    where: { id: userId },
    include: { secondFactor: { select: { userId: true } } },
  });
  if (user.secondFactor === null) return await requireCurrent(deps, user, password);
  const check = await checkCode(deps, { userId, code, subject: { codeInSessionOf: userId } });
  if (check.kind === 'locked') throw lockedError(check);
  if (check.kind === 'wrong') throw new ServiceError('validation_error', `code: ${wrongCode}`);
}

/** What to do after a wrong code. */
export const wrongCode = 'is incorrect or was used before. Enter the next code of your app.';
