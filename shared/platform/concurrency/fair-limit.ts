import pLimit, { type LimitFunction } from 'p-limit';
import { ServiceError } from '../errors.ts';

/**
 * Runs work of an owner; what finds no place waits for one.
 * @throws ServiceError service_unavailable, without starting the work, when it has waited too long.
 */
export type FairLimit = <Result>(owner: string, work: () => Promise<Result>) => Promise<Result>;

/** As long as a statement waits for a connection. */
const patienceMs = 3_000;

/** Bounds how much work runs at once in all and for one owner, so that the slow work of one leaves places to others. */
export function openFairLimit({ inAll, perOwner }: { inAll: number; perOwner: number }): FairLimit {
  const all = pLimit(inAll);
  const ofOwners = new Map<string, LimitFunction>();
  return async (owner, work) => {
    const own = ofOwners.get(owner) ?? pLimit(perOwner);
    ofOwners.set(owner, own);
    const since = performance.now();
    const begin = async () => {
      if (performance.now() - since > patienceMs) {
        const message = 'Earlier requests of your organization are still running. Retry in a few seconds.';
        throw new ServiceError('service_unavailable', message, { retryAfterSeconds: 2 });
      }
      return await work();
    };
    try {
      return await own(() => all(begin));
    } finally {
      if (own.activeCount + own.pendingCount === 0) ofOwners.delete(owner);
    }
  };
}
