import type { Database, ProcessorAccount } from '../../platform/database.ts';
import type { Operation } from './abilities.ts';

/** What the processor's 429 answers to an operation have led to; prisma/functions/accounts/note_rate_limit.sql notes it. */
interface RateLimit {
  /** No call is made before then. ISO 8601. */
  pausedUntil: string;
  /** When the rate was last reduced, and to which part of the whole. It grows back within a minute. */
  slowedAt: string;
  slowedTo: number;
}

/** The column `rate_limits` of an account. */
type RateLimits = Partial<Record<Operation, RateLimit>>;

type LimitedAccount = Pick<ProcessorAccount, 'rateLimits'>;

/** As long as operation_rate.sql says. */
const slowedMs = 60_000;

const longestPauseMs = 60 * 60 * 1000;

/** An operation that the processor has limited. */
export interface LimitedOperation {
  operation: Operation;
  /** When calls are made again; null for one that is only slowed. */
  pausedUntil: Date | null;
  /** When it has its whole rate again, unless the processor limits it once more. */
  limitedUntil: Date;
}

/** The operations of an account that are paused or slowed now. */
export function limitedOperations({ rateLimits }: LimitedAccount, now: Date): LimitedOperation[] {
  return Object.entries(rateLimits as RateLimits)
    .map(([operation, { pausedUntil, slowedAt }]) => {
      const until = new Date(pausedUntil);
      const wholeAgainMs = Math.max(until.getTime(), Date.parse(slowedAt) + slowedMs);
      return {
        operation: operation as Operation,
        pausedUntil: until > now ? until : null,
        limitedUntil: new Date(wholeAgainMs),
      };
    })
    .filter(({ limitedUntil }) => limitedUntil > now);
}

/** What an operation does, for people. */
export const operationLabels: Record<Operation, string> = {
  getPayment: 'Reading payments',
  createRefund: 'Sending refunds',
  findRefund: 'Looking up refunds',
  getRefund: 'Reading refunds',
  listRefunds: 'Listing refunds',
  cancelRefund: 'Cancelling refunds',
};

/** How long no call of an operation is made yet, in milliseconds; 0 when it is not paused. */
export function pauseLeftMs({ rateLimits }: LimitedAccount, operation: Operation, now: Date): number {
  const { pausedUntil } = (rateLimits as RateLimits)[operation] ?? {};
  return pausedUntil === undefined ? 0 : Math.max(0, Date.parse(pausedUntil) - now.getTime());
}

/** The part of its rate that an operation has now, as operation_rate.sql says. */
export function partOfRate({ rateLimits }: LimitedAccount, operation: Operation, now: Date): number {
  const { slowedAt, slowedTo = 1 } = (rateLimits as RateLimits)[operation] ?? {};
  const sinceMs = slowedAt === undefined ? slowedMs : now.getTime() - Date.parse(slowedAt);
  return sinceMs < 0 || sinceMs >= slowedMs ? 1 : slowedTo + ((1 - slowedTo) * sinceMs) / slowedMs;
}

/**
 * How long an operation pauses after a 429, in milliseconds: as long as the processor asks for, up to an hour. Most name no time; the
 * pause is short then, because the rate is reduced, too.
 * @param random uniform in [0, 1).
 */
export function pauseMs(retryAfterMs: number | null, random: number): number {
  return retryAfterMs === null ? 250 + 250 * random : Math.min(retryAfterMs, longestPauseMs);
}

/**
 * Pauses and slows an operation of an account after a 429, for all processes. Its other operations and other accounts are not affected.
 * @returns the account's `rateLimits` then.
 */
export async function noteRateLimit(
  { db }: { db: Database },
  accountId: string,
  operation: Operation,
  retryAfterMs: number | null,
): Promise<ProcessorAccount['rateLimits']> {
  const ms = pauseMs(retryAfterMs, Math.random());
  const [row] = await db.$queryRaw<{ known: ProcessorAccount['rateLimits'] }[]>`
    SELECT note_rate_limit(${accountId}, ${operation}, ${ms}) AS known`;
  return row?.known ?? {};
}

/** Calls that may come together, in milliseconds at the rate; one always may. As free_calls.sql says. */
const burstMs = 200;

/** Spaces the calls of this process that no claim has counted, such as reads of payments for requests. */
export class CallPace {
  /** By what is called: when its calls so far would be over, at their rate. */
  readonly #spentUntilMs = new Map<string, number>();

  /**
   * Takes the next call.
   * @param perSecond 0 for no limit.
   * @returns milliseconds until it may be made; null when that is more than `mostMs`, and no call is taken.
   */
  take(called: string, perSecond: number, nowMs: number, mostMs: number): number | null {
    if (perSecond === 0) return 0;
    const callMs = 1_000 / perSecond;
    const spentUntilMs = Math.max(this.#spentUntilMs.get(called) ?? 0, nowMs) + callMs;
    const waitMs = Math.max(0, spentUntilMs - nowMs - Math.max(burstMs, callMs));
    if (waitMs > mostMs) return null;
    // The latest at the end, so that what is past is at the beginning.
    this.#spentUntilMs.delete(called);
    this.#spentUntilMs.set(called, spentUntilMs);
    for (const [each, untilMs] of this.#spentUntilMs) {
      if (untilMs > nowMs) break;
      this.#spentUntilMs.delete(each);
    }
    return waitMs;
  }
}
