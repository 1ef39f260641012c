import { describe, expect, test } from 'vitest';
import { EventWatcher } from '#shared/events/event-watcher.ts';
import type { Reads } from '#shared/platform/database.ts';
import { openLog } from '#shared/platform/log.ts';
import { SharedWait } from '#shared/platform/shared-wait.ts';
import { RefundWatcher } from '#shared/refunds/lifecycle/refund-watcher.ts';

function startLog() {
  const logged: { level: number; msg: string }[] = [];
  return { logged, log: openLog('info', 'test', { write: (line: string) => logged.push(JSON.parse(line)) }) };
}

const never = () => new AbortController().signal;
const owner = { organizationId: 'org_1', environment: 'test' } as const;
type Watched = ConstructorParameters<typeof RefundWatcher>[0];

test.each([
  {
    what: 'changed refunds',
    unanswered: null,
    wait: (deps: Watched) => new RefundWatcher(deps, never()).waitFor('ref_1', () => true, 700),
  },
  {
    what: 'events',
    unanswered: false,
    wait: (deps: Watched) =>
      new EventWatcher(deps, never()).waitFor({ ...owner, type: undefined, readTo: 0n }, 700),
  },
])(
  'while the database fails, looking for $what is repeated slowly and logs one warning',
  async ({ what, unanswered, wait }) => {
    const { logged, log } = startLog();
    let failures = 0;
    const query: Reads['query'] = async () => {
      failures += 1;
      throw new Error('connection terminated');
    };
    expect(await wait({ reads: { query } as Reads, log })).toBe(unanswered);
    expect(failures).toBeLessThanOrEqual(3);
    const msg = `looking for ${what} failed; it will be repeated`;
    expect(logged).toMatchObject([{ level: 40, msg }]);
  },
);

describe('a request that waits', () => {
  const { log } = startLog();

  test('is answered when its time is over although the query hangs', async () => {
    const wait = new SharedWait<object>({
      look: () => new Promise<never>(() => {}),
      ...{ log, warning: '', closing: never() },
    });
    await wait.wait({}, 100);
    expect(wait.waiting).toBe(0);
  });

  test('is answered when the process closes, and a later one does not wait', async () => {
    const closing = new AbortController();
    const wait = new SharedWait<object>({
      look: async () => [],
      ...{ log, warning: '', closing: closing.signal },
    });
    const waiting = wait.wait({}, 60_000);
    expect(wait.waiting).toBe(1);
    closing.abort();
    await waiting;
    await wait.wait({}, 60_000);
  });

  test('shares a query with the others, and each is answered in the round that finds it', async () => {
    const rounds: number[] = [];
    const [first, second] = [{ foundIn: 1 }, { foundIn: 3 }];
    const wait = new SharedWait<typeof first>({
      async look(round) {
        rounds.push(round.length);
        return round.filter(({ foundIn }) => foundIn === rounds.length);
      },
      ...{ log, warning: '', closing: never() },
    });
    await Promise.all([wait.wait(first, 60_000), wait.wait(second, 60_000)]);
    expect(rounds).toEqual([2, 1, 1]);
  });
});
