import { createHash } from 'node:crypto';
import type { DatabaseTransaction } from '../db.ts';
import type { Dependencies } from '../dependencies.ts';
import { ServiceError } from '../errors.ts';

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

/** An attempt that may be made, or has to wait. */
export type Attempt = { kind: 'counted' } | { kind: 'locked'; retryAfterSeconds: number };

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
  const counted = await db.$executeRaw`
    INSERT INTO lockout AS known (subject, failures, last_failed_at) VALUES (${key}, 1, ${now})
    ON CONFLICT (subject) DO UPDATE SET
      failures = CASE WHEN known.last_failed_at < ${forgottenBefore} THEN 1 ELSE known.failures + 1 END,
      last_failed_at = ${now},
      locked_until = CASE
        WHEN known.last_failed_at < ${forgottenBefore} OR known.failures + 1 < ${locksFromFailure} THEN NULL
        ELSE ${now}::timestamptz + make_interval(secs => least(${longestLockSeconds}::float8,
          ${firstLockSeconds}::float8 * power(2, least(known.failures + 1 - ${locksFromFailure}, ${mostDoublings}))))
      END
    WHERE known.locked_until IS NULL OR known.locked_until <= ${now}`;
  if (counted === 1) return { kind: 'counted' };
  const row = await db.lockout.findUnique({ where: { subject: key } });
  const lockedMs = (row?.lockedUntil?.getTime() ?? 0) - now.getTime();
  return { kind: 'locked', retryAfterSeconds: Math.max(1, Math.ceil(lockedMs / 1000)) };
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
