import pLimit from 'p-limit';
import type { PlatformDependencies } from '../../platform/dependencies.ts';
import { ServiceError } from '../../platform/errors.ts';

// Apart from passwords.ts, so that a process starts without loading the native hashing library.

/** Dependencies of everything that hashes passwords. */
export interface PasswordDependencies extends PlatformDependencies {
  hashLimiter: HashLimiter;
}

/** Anyone can fill the open lane with sign-ins; the reserved one is for known browsers and signed-in users. */
export type Lane = 'open' | 'reserved';

/**
 * Runs work that hashes a password, a few at a time, first come, first served in its lane. Do not nest calls.
 * @throws ServiceError service_unavailable at once when the lane's queue is full; the work is not started.
 */
export type HashLimiter = <T>(work: () => Promise<T>, lane?: Lane) => Promise<T>;

/**
 * Limits how many passwords a process hashes at once in each lane, so that many sign-ins cannot exhaust it: a hash occupies
 * a core and 19 MiB for about 20 ms. Both lanes together occupy the four threads that Node has for such work.
 */
export function openHashLimiter({ concurrency = 2, queueLimit = 50 } = {}): HashLimiter {
  const lanes = { open: pLimit(concurrency), reserved: pLimit(concurrency) };
  return async (work, lane = 'open') => {
    const limit = lanes[lane];
    if (limit.activeCount >= concurrency && limit.pendingCount >= queueLimit) {
      const message = 'Too many people are signing in right now. Try again in a few seconds.';
      throw new ServiceError('service_unavailable', message, { retryAfterSeconds: 2 });
    }
    return await limit(work);
  };
}
