import pLimit from 'p-limit';
import type { PlatformDependencies } from '../platform/dependencies.ts';
import { ServiceError } from '../platform/errors.ts';

// Apart from passwords.ts, so that a process starts without loading the native hashing library.

/** Dependencies of everything that hashes passwords. */
export interface PasswordDependencies extends PlatformDependencies {
  hashLimiter: HashLimiter;
}

/**
 * Runs work that hashes a password, a few at a time, first come, first served. Do not nest calls.
 * @throws ServiceError service_unavailable at once when the queue is full; the work is not started.
 */
export type HashLimiter = <T>(work: () => Promise<T>) => Promise<T>;

/**
 * Limits how many passwords a process hashes at once, so that many sign-ins cannot exhaust it: a hash occupies a core
 * and 19 MiB for about 20 ms.
 */
export function openHashLimiter({ concurrency = 4, queueLimit = 50 } = {}): HashLimiter {
  const limit = pLimit(concurrency);
  return async (work) => {
    if (limit.activeCount >= concurrency && limit.pendingCount >= queueLimit) {
      const message = 'Too many people are signing in right now. Try again in a few seconds.';
      throw new ServiceError('service_unavailable', message, { retryAfterSeconds: 2 });
    }
    return await limit(work);
  };
}
