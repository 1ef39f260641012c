import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { remember } from '#api/dashboard/pages/overview/remembered.ts';

beforeEach(() => vi.useFakeTimers());
afterEach(() => vi.useRealTimers());

/** Reads the number of the read, which takes this long. */
function taking(ms: number) {
  let count = 0;
  const remembered = remember<number>();
  const read = (key = 'ours') =>
    remembered(key, async () => {
      const number = ++count;
      await new Promise((resolve) => setTimeout(resolve, ms));
      return number;
    });
  const passing = async (...reads: Promise<number>[]) => {
    await vi.advanceTimersByTimeAsync(ms);
    return await Promise.all(reads);
  };
  return { read, passing };
}

test('shares what is being read, under its own key, and reads anew what is read quickly', async () => {
  const { read, passing } = taking(499);
  expect(await passing(read(), read(), read('theirs'))).toEqual([1, 1, 2]);
  expect(await passing(read())).toEqual([3]);
});

test('keeps what took long for a minute', async () => {
  const { read, passing } = taking(500);
  expect(await passing(read())).toEqual([1]);
  await vi.advanceTimersByTimeAsync(59_999);
  expect(await read()).toBe(1);
  await vi.advanceTimersByTimeAsync(1);
  expect(await passing(read())).toEqual([2]);
});

test('keeps no failure', async () => {
  let isBroken = true;
  const remembered = remember<string>();
  const read = () =>
    remembered('ours', async () => (isBroken ? Promise.reject(new Error('unread')) : 'read'));
  await expect(read()).rejects.toThrow('unread');
  isBroken = false;
  expect(await read()).toBe('read');
});
