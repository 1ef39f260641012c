import { createHash } from 'node:crypto';
import type { DatabaseTransaction } from '../platform/database.ts';
import type { PlatformDependencies } from '../platform/dependencies.ts';
import { ServiceError } from '../platform/errors.ts';
import type { Logger } from '../platform/log.ts';

/** The consecutive failure that starts the first lock. */
const locksFromFailure = 5;
const firstLockSeconds = 30;
const maxLockSeconds = 60 * 60;

/** Keeps the power of two finite for any number of failures; far beyond the longest lock. */
const maxDoublings = 20;

/** Failures older than this are no longer counted. */
export const failuresKeptMs = 24 * 60 * 60 * 1000;

/**
 * What failures are counted for: sign-ins with an email address, with or without a user; sign-ins in a known browser, so
 * that others cannot lock its user out there; the current password or a code in a session, so that a stolen session
 * cannot lock its user out of signing in; codes at sign-in; and the set-up code.
 */
export type LockoutSubject =
  | { email: string }
  | { knownBrowser: string }
  | { changingPasswordOf: string }
  | { signInCodeOf: string }
  | { confirmationCodeOf: string }
  | 'first-owner';

/** The result of an attempt. */
export type Attempt = { kind: 'right' } | { kind: 'wrong' } | { kind: 'locked'; retryAfterSeconds: number };

/** Where refusals are logged; the log of the request includes its origin. */
export interface RefusalLog {
  log: Pick<Logger, 'warn'>;
}

/**
 * Makes an attempt unless the subject is locked, and logs refusals.
 * @param userId the user of the subject, if any, for the log.
 */
export async function attempt(
  deps: Pick<PlatformDependencies, 'db' | 'clock'> & RefusalLog,
  { subject, userId }: { subject: LockoutSubject; userId: string | null },
  isRight: () => Promise<boolean>,
): Promise<Attempt> {
  const about = { subject: Buffer.from(keyOf(subject)).toString('hex').slice(0, 12), userId };
  const counted = await countAsFailed(deps, subject);
  if (counted.kind === 'locked') {
    const { retryAfterSeconds } = counted;
    deps.log.warn({ ...about, retryAfterSeconds }, 'attempt refused: locked');
    return counted;
  }
  if (await isRight()) {
    await forgetFailures(deps.db, subject);
    return { kind: 'right' };
  }
  const { locksForSeconds } = counted;
  // The log has a digest instead of the address, which may be a password in the wrong field.
  if (locksForSeconds === null) deps.log.warn(about, 'attempt refused: wrong');
  else deps.log.warn({ ...about, locksForSeconds }, 'attempt refused: wrong, now locked');
  return { kind: 'wrong' };
}

type Counted =
  | { kind: 'counted'; locksForSeconds: number | null }
  | { kind: 'locked'; retryAfterSeconds: number };

/**
 * Counts an attempt as failed before it is checked, in one statement, so that concurrent attempts cannot exceed the
 * limit together. A correct one resets the count afterwards.
 */
async function countAsFailed(
  { db, clock }: Pick<PlatformDependencies, 'db' | 'clock'>,
  subject: LockoutSubject,
): Promise<Counted> {
  const key = keyOf(subject);
  const now = clock.now();
  const forgottenBefore = new Date(now.getTime() - failuresKeptMs);
  const [counted] = await db.$queryRaw<{ lockedUntil: Date | null }[]>`
    INSERT INTO lockout AS known (subject, failures, last_failed_at) VALUES (${key}, 1, ${now})
    ON CONFLICT (subject) DO UPDATE SET
      failures = CASE WHEN known.last_failed_at < ${forgottenBefore} THEN 1 ELSE known.failures + 1 END,
      last_failed_at = ${now},
      locked_until = CASE
        WHEN known.last_failed_at < ${forgottenBefore} OR known.failures + 1 < ${locksFromFailure} THEN NULL
        ELSE ${now}::timestamptz + make_interval(secs => least(${maxLockSeconds}::float8,
          ${firstLockSeconds}::float8 * power(2, least(known.failures + 1 - ${locksFromFailure}, ${maxDoublings}))))
      END
    WHERE known.locked_until IS NULL OR known.locked_until <= ${now}
    RETURNING locked_until AS "lockedUntil"`;
  if (counted !== undefined) {
    const { lockedUntil } = counted;
    return { kind: 'counted', locksForSeconds: lockedUntil === null ? null : secondsUntil(lockedUntil, now) };
  }
  const row = await db.lockout.findUnique({ where: { subject: key } });
  return { kind: 'locked', retryAfterSeconds: Math.max(1, secondsUntil(row?.lockedUntil ?? now, now)) };
}

function secondsUntil(then: Date, now: Date): number {
  return Math.ceil((then.getTime() - now.getTime()) / 1000);
}

/** Resets the count after a correct attempt or by an administrator. */
export async function forgetFailures(db: DatabaseTransaction, subject: LockoutSubject): Promise<void> {
  await db.lockout.deleteMany({ where: { subject: keyOf(subject) } });
}

/** The error for a locked subject. */
export function lockedError({ retryAfterSeconds }: { retryAfterSeconds: number }): ServiceError {
  const message = `Too many failed attempts. Try again in ${retryAfterSeconds} seconds.`;
  return new ServiceError('rate_limited', message, { retryAfterSeconds });
}

function keyOf(subject: LockoutSubject): Uint8Array<ArrayBuffer> {
  return Uint8Array.from(createHash('sha256').update(nameOf(subject)).digest());
}

function nameOf(subject: LockoutSubject): string {
  if (subject === 'first-owner') return subject;
  if ('email' in subject) return `email:${subject.email}`;
  if ('knownBrowser' in subject) return `known-browser:${subject.knownBrowser}`;
  if ('signInCodeOf' in subject) return `sign-in-code-of:${subject.signInCodeOf}`;
  if ('confirmationCodeOf' in subject) return `confirmation-code-of:${subject.confirmationCodeOf}`;
  return `changing-password-of:${subject.changingPasswordOf}`;
}
