import { createHash } from 'node:crypto';
import type { DatabaseTransaction } from '../platform/database.ts';
import type { PlatformDependencies } from '../platform/dependencies.ts';
import { ServiceError } from '../platform/errors.ts';
import type { Logger } from '../platform/log.ts';

/** Failures in a row that are free; from this one on each of them locks. */
const locksFromFailure = 5;
const firstLockSeconds = 30;
const longestLockSeconds = 60 * 60;

/** Far beyond the longest lock, and few enough for any number of failures to be reckoned with. */
const mostDoublings = 20;

/** After so long without a failure the next one is the first of a new row. */
export const failuresKeptMs = 24 * 60 * 60 * 1000;

/**
 * What is counted by itself: sign-ins with an address, whether it has a user or not; those in a browser that is known to
 * its person, whom strangers do not lock out there; the current password in the form for a new one, so that whoever has
 * somebody's session does not lock that person out; and the set-up of the first owner.
 */
export type LockoutSubject =
  | { email: string }
  | { knownBrowser: string }
  | { changingPasswordOf: string }
  | 'first-owner';

/** What became of an attempt. */
export type Attempt = { kind: 'right' } | { kind: 'wrong' } | { kind: 'locked'; retryAfterSeconds: number };

/** Where refusals are told: the log of the process or, better, of the request, which knows where it came from. */
export interface RefusalLog {
  log: Pick<Logger, 'warn'>;
}

/**
 * Makes an attempt, unless the subject is locked: then it is not looked at whether it is right. A refused one is logged.
 * @param userId whose subject it is, if anybody's, for the log.
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
    deps.log.warn({ ...about, retryAfterSeconds }, 'an attempt was refused: locked');
    return counted;
  }
  if (await isRight()) {
    await forgetFailures(deps.db, subject);
    return { kind: 'right' };
  }
  const { locksForSeconds } = counted;
  // The address stays out of it: it may be a password in the wrong field. The digest shows what belongs together.
  if (locksForSeconds === null) deps.log.warn(about, 'an attempt was refused: wrong');
  else deps.log.warn({ ...about, locksForSeconds }, 'an attempt was refused: wrong, a lock begins');
  return { kind: 'wrong' };
}

type Counted =
  | { kind: 'counted'; locksForSeconds: number | null }
  | { kind: 'locked'; retryAfterSeconds: number };

/**
 * Counts an attempt as failed before what was given is looked at, in one statement, so that attempts made at the same
 * moment cannot pass the limit together. One that turns out to be right is forgiven.
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
        ELSE ${now}::timestamptz + make_interval(secs => least(${longestLockSeconds}::float8,
          ${firstLockSeconds}::float8 * power(2, least(known.failures + 1 - ${locksFromFailure}, ${mostDoublings}))))
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

/** Starts to count anew, because what was given was right or somebody in charge says so. */
export async function forgetFailures(db: DatabaseTransaction, subject: LockoutSubject): Promise<void> {
  await db.lockout.deleteMany({ where: { subject: keyOf(subject) } });
}

/** The answer for an attempt that has to wait, where it is not shown as a state of its own. */
export function lockedError({ retryAfterSeconds }: { retryAfterSeconds: number }): ServiceError {
  const message = `Too many wrong attempts. Try again in ${retryAfterSeconds} seconds.`;
  return new ServiceError('rate_limited', message, { retryAfterSeconds });
}

function keyOf(subject: LockoutSubject): Uint8Array<ArrayBuffer> {
  return Uint8Array.from(createHash('sha256').update(nameOf(subject)).digest());
}

function nameOf(subject: LockoutSubject): string {
  if (subject === 'first-owner') return subject;
  if ('email' in subject) return `email:${subject.email}`;
  if ('knownBrowser' in subject) return `known-browser:${subject.knownBrowser}`;
  return `changing-password-of:${subject.changingPasswordOf}`;
}
