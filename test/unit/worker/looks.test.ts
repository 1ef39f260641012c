import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { openLog } from '#shared/platform/log.ts';
import type { Due } from '#worker/schedule/due.ts';
import { startLooks } from '#worker/schedule/looks.ts';

beforeEach(() => void vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] }));
afterEach(() => void vi.useRealTimers());

const nothing: Due = {
  ...{ processors: [], batches: false, settledPosition: 0n, events: false },
  ...{ deliveries: false, reconciliations: false, notifications: false },
};

function start(found: Partial<Due> = {}) {
  const read = vi.fn(async () => ({ ...nothing, ...found }));
  const looks = startLooks({ read, shortestPauseMs: 200, log: openLog('silent', 'test'), random: () => 0 });
  /** How many looks begin while the time passes. */
  const during = async (ms: number) => {
    const before = read.mock.calls.length;
    await vi.advanceTimersByTimeAsync(ms);
    return read.mock.calls.length - before;
  };
  return { looks, read, during };
}

test('looks every 200 ms while something is due, and down to once a second while nothing is', async () => {
  const busy = start({ processors: ['stripe'] });
  expect(await busy.during(0)).toBe(1);
  expect(await busy.during(10_000)).toBe(50);
  await busy.looks.close();

  // What is pending for later needs no frequent looks.
  const idle = start({ deliveries: true });
  expect(await idle.during(0)).toBe(1);
  expect(await idle.during(1_200)).toBe(2);
  expect(await idle.during(10_000)).toBe(10);
  await idle.looks.close();
  expect(await idle.during(10_000)).toBe(0);
});

test('a wake-up shortens the pause of an idle worker, and many of them cost no more looks than work does', async () => {
  const { looks, during } = start();
  await during(10_250);
  looks.wake();
  expect(await during(200)).toBe(1);
  let later = 0;
  for (let count = 0; count < 1_000; count += 1) {
    looks.wake();
    later += await during(1);
  }
  expect(later).toBe(5);
  await looks.close();
});

test('what waits goes on with the look that finds it, or that fails: that may concern another task alone', async () => {
  const found: Partial<Due> = {};
  const { looks, read, during } = start(found);
  const signal = new AbortController().signal;
  const goneOn = vi.fn();
  void looks.untilDue(({ batches }) => batches, signal).then(goneOn);
  await during(5_000);
  expect(goneOn).not.toHaveBeenCalled();
  found.batches = true;
  await during(2_000);
  expect(goneOn).toHaveBeenCalledOnce();

  found.batches = false;
  void looks.untilDue(({ batches }) => batches, signal).then(goneOn);
  read.mockRejectedValueOnce(new Error('gone'));
  await during(2_000);
  expect(goneOn).toHaveBeenCalledTimes(2);
  await looks.close();
  looks.wake();
  expect(await during(2_000)).toBe(0);
});
