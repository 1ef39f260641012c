import { setImmediate } from 'node:timers/promises';
import { describe, expect, test } from 'vitest';
import { type HashLimiter, type HashUse, openHashLimiter } from '#shared/people/sign-in/hash-limiter.ts';
import { newEmail } from '../../support/people.ts';

/** Each use is of another user. */
const use = () => ({ lane: 'open', of: newEmail() }) as const;

/** Hashing alone, without statements around it. */
const hashIn = <T>(limiter: HashLimiter, hashing: () => Promise<T>, as: HashUse = use()) =>
  limiter(as, (inLane) => inLane(hashing));

describe('the hash limiter', () => {
  const unavailable = { code: 'service_unavailable', status: 503, retryAfterSeconds: 2 };

  test('accepts three of one user or network in each lane, running or waiting, and others beside them', async () => {
    const limiter = openHashLimiter();
    const release: (() => void)[] = [];
    const work = () => new Promise<void>((resolve) => release.push(resolve));
    const free = async () => 'free';
    const busy = { code: 'rate_limited', status: 429, retryAfterSeconds: 2 };
    const held = [1, 2, 3].map(() => hashIn(limiter, work, { lane: 'reserved', of: 'busy' }));
    const refusals: unknown[] = [];
    hashIn(limiter, free, { lane: 'reserved', of: 'busy' }).catch((error) => refusals.push(error));
    await setImmediate();
    expect(refusals).toMatchObject([busy]);
    await expect(hashIn(limiter, free, { lane: 'open', of: 'busy' })).resolves.toBe('free');
    const other = hashIn(limiter, free, { lane: 'reserved', of: 'other' });
    for (let done = 0; done < 3; done += 1) {
      await setImmediate();
      release.shift()?.();
    }
    await Promise.all(held);
    await expect(other).resolves.toBe('free');
    await expect(hashIn(limiter, free, { lane: 'reserved', of: 'busy' })).resolves.toBe('free');
  });

  test('bounds a flood of sign-ins: two at a time, fifty waiting, and the rest refused at once', async () => {
    const limiter = openHashLimiter();
    const release: (() => void)[] = [];
    const refused: unknown[] = [];
    let [running, most] = [0, 0];
    const flood = Array.from({ length: 100 }, () =>
      hashIn(limiter, async () => {
        running += 1;
        most = Math.max(most, running);
        await new Promise<void>((resolve) => release.push(resolve));
        running -= 1;
      }).catch((error) => refused.push(error)),
    );
    await setImmediate();
    expect(refused).toHaveLength(48);
    for (const error of refused) expect(error).toMatchObject(unavailable);
    for (let done = 0; done < 52; done += 1) {
      release.shift()?.();
      await setImmediate();
    }
    await Promise.all(flood);
    expect({ most, refused: refused.length }).toEqual({ most: 2, refused: 48 });
    await expect(hashIn(limiter, async () => 'free again')).resolves.toBe('free again');
  });
});
