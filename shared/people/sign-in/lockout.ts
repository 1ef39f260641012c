import type { Database, DatabaseTransaction, Stores } from '../../platform/database.ts';
import { ServiceError } from '../../platform/errors.ts';
import type { Logger } from '../../platform/log.ts';
import { sha256 } from '../../platform/secrets/secrets.ts';

const firstLockSeconds = 30;
const maxLockSeconds = 60 * 60;
const minuteMs = 60 * 1000;

/** Keeps the power of two finite for any number of failures; far beyond the longest lock. */
const maxDoublings = 20;

/** Failures older than this are no longer counted. */
export const failuresKeptMs = 24 * 60 * minuteMs;

/**
 * How many attempts lock a subject. Without a window, these are failures in a row: the lock lasts 30 s, after each further
 * failure twice as long, up to an hour, and a right attempt resets the count. With a window, the lock lasts until the window
 * ends, and a right attempt takes back only its own count: an attacker may have an account of their own.
 */
interface Limit {
  attempts: number;
  windowMs: number | null;
}

const inARow = (attempts: number): Limit => ({ attempts, windowMs: null });
const within = (minutes: number, attempts: number): Limit => ({ attempts, windowMs: minutes * minuteMs });

/**
 * How many attempts are allowed, by what they are counted for: the fields of the subject, in alphabetical order. An account is an email
 * address, with or without a user.
 */
const limits = {
  // Failures to sign in.
  'account network': inARow(5),
  // More than one network alone can cause, so that it does not lock the account for all others.
  account: within(60, 20),
  network: within(10, 50),
  // No user mistypes a password that often, and a copied cookie allows no more guesses than this.
  knownBrowser: inARow(100),
  // Failures in a session, apart so that a stolen session cannot lock its user out of signing in.
  passwordInSessionOf: inARow(5),
  codeInSessionOf: inARow(5),
  // Failures after the password, in a known browser apart: someone who knows the password cannot lock its user out.
  signInCodeOf: inARow(5),
  signInCodeInKnownBrowser: inARow(5),
  setUpCodeFrom: inARow(5),
  // Successes, in known browsers apart for the same reason.
  signInsInKnownBrowsersOf: within(1, 10),
  signInsInOtherBrowsersOf: within(1, 10),
  // All requests.
  passwordResetsOf: within(60, 5),
  passwordResetsFrom: within(10, 50),
  mailedInvitationsOf: within(24 * 60, 100),
} as const;

/** An object with one field, of one of these names. */
type OneOf<Name extends string> = Name extends string ? { [name in Name]: string } : never;

/** What attempts are counted for; `limits` has the fields. */
export type LockoutSubject =
  | { account: string; network: string }
  | OneOf<Exclude<keyof typeof limits, 'account network'>>;

/** The result of an attempt. */
export type Attempt = { kind: 'right' } | { kind: 'wrong' } | Locked;

export interface Attempted {
  /** One or several, the narrowest first, so that what it refuses never counts for the others. The first is logged. */
  subject: LockoutSubject | readonly LockoutSubject[];
  /** What a right attempt is counted for when these are limited as well. */
  successes?: LockoutSubject;
  /** The user of the subject, if any, for the log. */
  userId: string | null;
}

/** Where refusals are logged; the log of the request includes its origin. */
export interface RefusalLog {
  log: Pick<Logger, 'warn'>;
}

/**
 * Makes an attempt unless one of its subjects is locked, and logs refusals. A refused attempt, and one whose check throws,
 * is not counted.
 */
export async function attempt(
  { db, clock, log }: Stores & RefusalLog,
  { subject, successes, userId }: Attempted,
  isRight: () => Promise<boolean>,
): Promise<Attempt> {
  const now = clock.now();
  const counters = [subject].flat().map((each) => counterOf(each, now));
  const success = successes === undefined ? null : counterOf(successes, now);
  const about = { subject: Buffer.from(counters[0]?.key ?? []).toString('hex', 0, 6), userId };
  const counted = await countAsFailed(
    db,
    counters,
    success === null ? counters : [...counters, success],
    now,
  );
  if (counted.kind === 'locked') {
    const { retryAfterSeconds } = counted;
    log.warn({ ...about, retryAfterSeconds }, 'attempt refused: locked');
    return counted;
  }
  const right = await isRight().catch(async (error: unknown) => {
    await takeBack(db, counters);
    throw error;
  });
  if (right) return await countSuccess(db, counters, success, now);
  const { locksForSeconds } = counted;
  // The log has a digest instead of the email address, which may be a password in the wrong field.
  if (locksForSeconds === null) log.warn(about, 'attempt refused: wrong');
  else log.warn({ ...about, locksForSeconds }, 'attempt refused: wrong, now locked');
  return { kind: 'wrong' };
}

/** Takes back that the attempt was counted as failed, and counts it as right where that is limited as well. */
async function countSuccess(
  db: Database,
  counters: readonly Counter[],
  success: Counter | null,
  now: Date,
): Promise<Attempt> {
  const isInWindow = ({ windowEnd }: Counter) => windowEnd !== null;
  await takeBack(db, counters.filter(isInWindow));
  await reset(db, keysOf(counters.filter((counter) => !isInWindow(counter))));
  if (success === null || (await countOne(db, success, now)) !== null) return { kind: 'right' };
  // Others were counted while this one was checked.
  return await lockedBy(db, [success], now);
}

/**
 * Counts what anyone may do a few times, right or wrong.
 * @param subjects the narrowest first.
 * @throws ServiceError rate_limited while one of them is locked.
 */
export async function countRequest(
  { db, clock, log }: Stores & RefusalLog,
  subjects: readonly LockoutSubject[],
): Promise<void> {
  const now = clock.now();
  const counters = subjects.map((each) => counterOf(each, now));
  const counted = await countAsFailed(db, counters, counters, now);
  if (counted.kind === 'counted') return;
  const { retryAfterSeconds } = counted;
  log.warn({ retryAfterSeconds }, 'request refused: too many');
  const message = `Too many requests. Try again in ${Math.ceil(retryAfterSeconds / 60)} min.`;
  throw new ServiceError('rate_limited', message, { retryAfterSeconds });
}

interface Locked {
  kind: 'locked';
  retryAfterSeconds: number;
}

type Counted = { kind: 'counted'; locksForSeconds: number | null } | Locked;

/** A row of the table; the rows of each window have a key of their own. */
interface Counter {
  key: Uint8Array<ArrayBuffer>;
  /** How many attempts lock it. */
  limit: number;
  windowEnd: Date | null;
}

function counterOf(subject: LockoutSubject, now: Date): Counter {
  const { attempts: limit, windowMs } =
    limits[Object.keys(subject).toSorted().join(' ') as keyof typeof limits];
  const windowEnd =
    windowMs === null ? null : new Date((Math.floor(now.getTime() / windowMs) + 1) * windowMs);
  return { key: keyOf(subject, windowEnd), limit, windowEnd };
}

/**
 * Counts an attempt as failed before it is checked, so that concurrent attempts cannot exceed a limit together. While one of
 * the checked counters is locked, none counts.
 */
async function countAsFailed(
  db: Database,
  counters: readonly Counter[],
  checked: readonly Counter[],
  now: Date,
): Promise<Counted> {
  const retryAfterSeconds = await secondsLocked(db, checked, now);
  if (retryAfterSeconds !== null) return { kind: 'locked', retryAfterSeconds };
  const locks: number[] = [];
  for (const [at, counter] of counters.entries()) {
    const counted = await countOne(db, counter, now);
    if (counted === null) {
      await takeBack(db, counters.slice(0, at));
      return await lockedBy(db, counters, now);
    }
    if (counted.lockedUntil !== null) locks.push(secondsUntil(counted.lockedUntil, now));
  }
  return { kind: 'counted', locksForSeconds: locks.length === 0 ? null : Math.max(...locks) };
}

/** The answer for counters of which one was just found locked. */
async function lockedBy(db: Database, counters: readonly Counter[], now: Date): Promise<Locked> {
  return { kind: 'locked', retryAfterSeconds: (await secondsLocked(db, counters, now)) ?? 1 };
}

/** Seconds until none of the counters is locked; null when none is. */
async function secondsLocked(db: Database, counters: readonly Counter[], now: Date): Promise<number | null> {
  const row = await db.lockout.findFirst({
    where: { subject: { in: keysOf(counters) }, lockedUntil: { gt: now } },
    orderBy: { lockedUntil: 'desc' },
  });
  return row?.lockedUntil ? secondsUntil(row.lockedUntil, now) : null;
}

/** Counts an attempt; null when the counter is locked. */
async function countOne(
  db: Database,
  { key, limit, windowEnd }: Counter,
  now: Date,
): Promise<{ lockedUntil: Date | null } | null> {
  const forgottenBefore = new Date(now.getTime() - failuresKeptMs);
  const [counted = null] = await db.$queryRaw<{ lockedUntil: Date | null }[]>`
    INSERT INTO lockout AS known (subject, failures, last_failed_at) VALUES (${key}, 1, ${now})
    ON CONFLICT (subject) DO UPDATE SET
      failures = CASE WHEN known.last_failed_at < ${forgottenBefore} THEN 1 ELSE known.failures + 1 END,
      last_failed_at = ${now},
      locked_until = CASE
        WHEN known.last_failed_at < ${forgottenBefore} OR known.failures + 1 < ${limit} THEN NULL
        ELSE coalesce(${windowEnd}::timestamptz,
          ${now}::timestamptz + make_interval(secs => least(${maxLockSeconds}::float8,
            ${firstLockSeconds}::float8 * power(2, least(known.failures + 1 - ${limit}, ${maxDoublings})))))
      END
    WHERE known.locked_until IS NULL OR known.locked_until <= ${now}
    RETURNING locked_until AS "lockedUntil"`;
  return counted;
}

/** Reverses the counting of an attempt that has turned out not to be a failure. */
async function takeBack(db: Database, counters: readonly Counter[]): Promise<void> {
  // A right attempt at the same moment may have reset the count.
  const where = { subject: { in: keysOf(counters) }, failures: { gt: 0 } };
  await db.lockout.updateMany({ where, data: { failures: { decrement: 1 }, lockedUntil: null } });
}

function secondsUntil(then: Date, now: Date): number {
  return Math.ceil((then.getTime() - now.getTime()) / 1000);
}

async function reset(db: DatabaseTransaction, keys: readonly Counter['key'][]): Promise<void> {
  await db.lockout.deleteMany({ where: { subject: { in: [...keys] } } });
}

/** Resets a subject's failures in a row when an operator resets the password or the second factor. */
export async function forgetFailures(db: DatabaseTransaction, subject: LockoutSubject): Promise<void> {
  await reset(db, [keyOf(subject)]);
}

/** The error for a locked subject. */
export function lockedError({ retryAfterSeconds }: { retryAfterSeconds: number }): ServiceError {
  const message = `Too many failed attempts. Try again in ${retryAfterSeconds} seconds.`;
  return new ServiceError('rate_limited', message, { retryAfterSeconds });
}

function keysOf(counters: readonly Counter[]): Counter['key'][] {
  return counters.map(({ key }) => key);
}

function keyOf(subject: LockoutSubject, windowEnd: Date | null = null): Counter['key'] {
  return sha256(JSON.stringify([subject, windowEnd]));
}
