import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { cacheSlowReads } from '#api/dashboard/pages/overview/slow-reads.ts';

beforeEach(() => vi.useFakeTimers());
afterEach(() => vi.useRealTimers());

/** A cache of reads that take this long; each read returns its number, from 1. */
function readsTaking(ms: number) {
  let count = 0;
  const cached = cacheSlowReads<number>();
  const read = (key = 'ours') =>
    cached(key, async () => {
      const number = ++count;
      await new Promise((resolve) => setTimeout(resolve, ms));
      return number;
    });
  const finish = async (...reads: Promise<number>[]) => {
    await vi.advanceTimersByTimeAsync(ms);
    return await Promise.all(reads);
  };
  return { read, finish };
}

test('shares one result between concurrent reads of the same key, and does not keep that of a quick read', async () => {
  const { read, finish } = readsTaking(499);
  expect(await finish(read(), read(), read('theirs'))).toEqual([1, 1, 2]);
  expect(await finish(read())).toEqual([3]);
});

test('reuses the result of a slow read for a minute, under its key alone', async () => {
  const { read, finish } = readsTaking(500);
  expect(await finish(read())).toEqual([1]);
  await vi.advanceTimersByTimeAsync(59_999 - 500);
  expect(await finish(read(), read('theirs'))).toEqual([1, 2]);
  await vi.advanceTimersByTimeAsync(1);
  expect(await finish(read(), read('theirs'))).toEqual([3, 2]);
});

test('does not keep a failed read', async () => {
  let isBroken = true;
  const cached = cacheSlowReads<string>();
  const read = () => cached('ours', async () => (isBroken ? Promise.reject(new Error('broken')) : 'read'));
  await expect(read()).rejects.toThrow('broken');
  isBroken = false;
  expect(await read()).toBe('read');
});
