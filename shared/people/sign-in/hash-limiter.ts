import pLimit from 'p-limit';
import type { Stores } from '../../platform/database.ts';
import { ServiceError } from '../../platform/errors.ts';

// Apart from passwords.ts, so that a process starts without loading the native hashing library.

/** What a password is hashed for. */
export interface HashUse {
  /** Anyone can fill the open lane with sign-ins; the reserved one is for known browsers and signed-in users. */
  lane: 'open' | 'reserved';
  /** Whose share of the lane it takes: a user, an email address, or a network before sign-in. */
  of: string;
}

/**
 * Runs what hashes a password in the lane, a few at a time, first come, first served.
 * @throws ServiceError service_unavailable at once, without starting the work, when the lane's queue is full.
 */
type InLane = <T>(hashing: () => Promise<T>) => Promise<T>;

/**
 * Runs work that hashes passwords, together with the statements around the hashing: waiting for those occupies connections
 * to the database, which others need as well. Do not nest calls.
 * @throws ServiceError rate_limited at once, without starting the work, when the share is used up.
 */
export type HashLimiter = <T>(use: HashUse, work: (inLane: InLane) => Promise<T>) => Promise<T>;

/** What stores and checks passwords needs. */
export interface HashingStores extends Stores {
  hashLimiter: HashLimiter;
}

const retryAfterSeconds = 2;

/**
 * Limits how many passwords a process hashes at once in each lane, so that many sign-ins cannot exhaust it: a hash occupies
 * a core and 19 MiB for about 20 ms. Both lanes together occupy the four threads that Node has for such work.
 * @param share how many may be under way in a lane for the same `of`, so that one user cannot keep the others out.
 */
export function openHashLimiter({ concurrency = 2, queueLimit = 50, share = 3 } = {}): HashLimiter {
  const lanes = { open: newLane(concurrency, queueLimit), reserved: newLane(concurrency, queueLimit) };
  const underWay = { open: new Map<string, number>(), reserved: new Map<string, number>() };
  return async ({ lane, of }, work) => {
    const counts = underWay[lane];
    const before = counts.get(of) ?? 0;
    if (before >= share) {
      const message = 'Too many attempts at the same time. Try again in a few seconds.';
      throw new ServiceError('rate_limited', message, { retryAfterSeconds });
    }
    counts.set(of, before + 1);
    try {
      return await work(lanes[lane]);
    } finally {
      const left = Number(counts.get(of)) - 1;
      if (left === 0) counts.delete(of);
      else counts.set(of, left);
    }
  };
}

function newLane(concurrency: number, queueLimit: number): InLane {
  const limit = pLimit(concurrency);
  return async (hashing) => {
    if (limit.activeCount >= concurrency && limit.pendingCount >= queueLimit) {
      const message = 'Too many people are signing in right now. Try again in a few seconds.';
      throw new ServiceError('service_unavailable', message, { retryAfterSeconds });
    }
    return await limit(hashing);
  };
}
