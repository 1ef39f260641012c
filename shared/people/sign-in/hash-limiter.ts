import pLimit from 'p-limit';
import type { PlatformDependencies } from '../../platform/dependencies.ts';
import { ServiceError } from '../../platform/errors.ts';

// Apart from passwords.ts, so that a process starts without loading the native hashing library.

/** Dependencies of everything that hashes passwords. */
export interface PasswordDependencies extends PlatformDependencies {
  hashLimiter: HashLimiter;
}

/** What a password is hashed for. */
export interface HashUse {
  /** Anyone can fill the open lane with sign-ins; the reserved one is for known browsers and signed-in users. */
  lane: 'open' | 'reserved';
  /** Whose share of the lane it takes: a user, an email address, or a network before sign-in. */
  of: string;
}

/**
 * Runs work that hashes a password, a few at a time, first come, first served in its lane. Do not nest calls.
 * @throws ServiceError at once, without starting the work: rate_limited when the share is used up; service_unavailable
 * when the lane's queue is full.
 */
export type HashLimiter = <T>(work: () => Promise<T>, use: HashUse) => Promise<T>;

const retryAfterSeconds = 2;

/**
 * Limits how many passwords a process hashes at once in each lane, so that many sign-ins cannot exhaust it: a hash occupies
 * a core and 19 MiB for about 20 ms. Both lanes together occupy the four threads that Node has for such work.
 * @param share how many may run or wait in a lane for the same `of`, so that one user cannot keep the others out.
 */
export function openHashLimiter({ concurrency = 2, queueLimit = 50, share = 3 } = {}): HashLimiter {
  const newLane = () => ({ limit: pLimit(concurrency), held: new Map<string, number>() });
  const lanes = { open: newLane(), reserved: newLane() };
  return async (work, { lane, of }) => {
    const { limit, held } = lanes[lane];
    const before = held.get(of) ?? 0;
    if (before >= share) {
      const message = 'Too many attempts at the same time. Try again in a few seconds.';
      throw new ServiceError('rate_limited', message, { retryAfterSeconds });
    }
    if (limit.activeCount >= concurrency && limit.pendingCount >= queueLimit) {
      const message = 'Too many people are signing in right now. Try again in a few seconds.';
      throw new ServiceError('service_unavailable', message, { retryAfterSeconds });
    }
    held.set(of, before + 1);
    try {
      return await limit(work);
    } finally {
      const left = (held.get(of) ?? 1) - 1;
      if (left === 0) held.delete(of);
      else held.set(of, left);
    }
  };
}
