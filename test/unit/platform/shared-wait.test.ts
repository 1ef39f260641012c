import { expect, test } from 'vitest';
import { SharedWait, type SharedWaitOptions } from '#shared/platform/concurrency/shared-wait.ts';
import { openLog } from '#shared/platform/log.ts';

/** Requests that wait, and what is logged meanwhile. */
function startWaiting<Waiter extends object>(
  look: SharedWaitOptions<Waiter>['look'],
  closing = new AbortController(),
) {
  const logged: { level: number; msg: string }[] = [];
  const log = openLog('info', 'test', { write: (line) => logged.push(JSON.parse(line)) });
  const wait = new SharedWait<Waiter>({ look, log, warning: 'it failed', closing: closing.signal });
  return { wait, logged, closing };
}

test('while the database fails, a query is repeated slowly, logs one warning and delays no request', async () => {
  let failures = 0;
  const { wait, logged } = startWaiting(async () => {
    failures += 1;
    throw new Error('connection terminated');
  });
  await wait.wait({}, 700);
  expect(failures).toBeLessThanOrEqual(3);
  expect(logged).toMatchObject([{ level: 40, msg: 'it failed' }]);
});

test('a request is answered when its time is over although the query hangs', async () => {
  const { wait } = startWaiting<object>(() => new Promise<never>(() => {}));
  await wait.wait({}, 100);
  expect(wait.waiting).toBe(0);
});

test('a request is answered when the process closes, and a later one does not wait', async () => {
  const { wait, closing } = startWaiting<object>(async () => []);
  const waiting = wait.wait({}, 60_000);
  expect(wait.waiting).toBe(1);
  closing.abort();
  await waiting;
  await wait.wait({}, 60_000);
});

test('requests share a query, and each is answered in the round that finds it', async () => {
  const rounds: number[] = [];
  const [first, second] = [{ foundIn: 1 }, { foundIn: 3 }];
  const { wait } = startWaiting<typeof first>(async (round) => {
    rounds.push(round.length);
    return round.filter(({ foundIn }) => foundIn === rounds.length);
  });
  await Promise.all([wait.wait(first, 60_000), wait.wait(second, 60_000)]);
  expect(rounds).toEqual([2, 1, 1]);
});
