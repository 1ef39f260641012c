import { createHash } from 'node:crypto';
import type { DatabaseTransaction } from '../db.ts';
import type { Dependencies } from '../dependencies.ts';
import { ServiceError } from '../errors.ts';
import type { Logger } from '../log.ts';

/** Failures in a row that are free; from this one on each of them locks. */
const locksFromFailure = 5;
const firstLockSeconds = 30;
const longestLockSeconds = 60 * 60;

/** Far beyond the longest lock, and few enough for any number of failures to be reckoned with. */
const mostDoublings = 20;

/** After so long without a failure the next one is the first of a new row. */
export const failuresKeptMs = 24 * 60 * 60 * 1000;

/** What people try to get into: an address, whether it has a user or not, or the set-up of the first owner. */
export type LockoutSubject = { email: string } | 'first-owner';

/** An attempt that may be made, or has to wait. When `locksForSeconds` is not null, a lock begins unless it turns out to be right. */
export type Attempt =
  | { kind: 'counted'; locksForSeconds: number | null }
  | { kind: 'locked'; retryAfterSeconds: number };

/**
 * Counts an attempt as failed before what was given is looked at, in one statement, so that attempts made at the same
 * moment cannot pass the limit together. One that turns out to be right is forgiven with `forgetFailures`.
 */
export async function countAttempt(
  { db, clock }: Pick<Dependencies, 'db' | 'clock'>,
  subject: LockoutSubject,
): Promise<Attempt> {
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

/** Where refusals are told: the log of the process or, better, of the request, which knows where it came from. */
export interface RefusalLog {
  log: Pick<Logger, 'warn'>;
}

/**
 * Tells the log that an attempt was refused, and whether a lock begins or holds. The address stays out of it, since it may be
 * a password in the wrong field; a digest shows which refusals are about the same one.
 * @param userId whose it is, if anybody's.
 */
export function logRefusal(
  { log }: RefusalLog,
  subject: LockoutSubject,
  attempt: Attempt,
  userId: string | null,
): void {
  const about = { subject: Buffer.from(keyOf(subject)).toString('hex').slice(0, 12), userId };
  if (attempt.kind === 'locked') {
    log.warn({ ...about, retryAfterSeconds: attempt.retryAfterSeconds }, 'an attempt was refused: locked');
  } else if (attempt.locksForSeconds === null) {
    log.warn(about, 'an attempt was refused: wrong');
  } else {
    log.warn(
      { ...about, locksForSeconds: attempt.locksForSeconds },
      'an attempt was refused: wrong, a lock begins',
    );
  }
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
  const name = subject === 'first-owner' ? subject : `email:${subject.email}`;
  return Uint8Array.from(createHash('sha256').update(name).digest());
}
