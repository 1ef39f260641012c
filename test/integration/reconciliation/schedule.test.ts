import { beforeAll, describe, expect, test } from 'vitest';
import { isDue } from '#shared/reconciliation/runs.ts';
import { useService } from '../../support/use-service.ts';
import { waitFor } from '../../support/wait-for.ts';

const day = 86_400_000;

describe('when an account is due', () => {
  const now = new Date('2026-06-30T12:00:00Z');
  const ago = (ms: number) => new Date(now.getTime() - ms);
  const run = (changes: Partial<NonNullable<Parameters<typeof isDue>[0]>>) => ({
    startedAt: ago(2 * day),
    finishedAt: ago(2 * day),
    failure: null,
    claimedUntil: null,
    ...changes,
  });
  const failed = { failure: 'no answer' };

  test.each([
    ['never compared', null, true],
    ['compared a day ago', run({ startedAt: ago(day), finishedAt: ago(day - 60_000) }), true],
    ['compared less than a day ago', run({ startedAt: ago(day - 1), finishedAt: ago(day - 1) }), false],
    ['failed a quarter of an hour ago', run({ ...failed, finishedAt: ago(900_000) }), true],
    ['failed just now', run({ ...failed, finishedAt: ago(899_999) }), false],
    ['under way', run({ finishedAt: null, claimedUntil: ago(-1) }), false],
    ['left behind', run({ finishedAt: null, claimedUntil: ago(0) }), true],
  ])('%s', (_, last, due) => {
    expect(isDue(last, now, { RECONCILIATION_INTERVAL_MS: day })).toBe(due);
    expect(isDue(last, now, { RECONCILIATION_INTERVAL_MS: 0 })).toBe(false);
  });
});

describe('on the schedule of several workers', () => {
  const intervalMs = 1_000;
  const service = useService({ workers: 4, settings: { RECONCILIATION_INTERVAL_MS: intervalMs } });
  // While a worker compares an account, its list of those that are due grows old.
  beforeAll(() => service.sandbox.settings({ latencyMs: 100 }));

  test('compares each account once per interval', async () => {
    const { reconciliationRun, processorAccount } = service.deps.db;
    const accounts = await processorAccount.findMany();
    expect(accounts.length).toBeGreaterThan(2);
    for (const { id: accountId } of accounts) {
      const runs = await waitFor('an account to be compared often', async () => {
        const finished = await reconciliationRun.findMany({
          where: { accountId, finishedAt: { not: null } },
          orderBy: { startedAt: 'asc' },
        });
        return finished.length >= 4 ? finished : null;
      });
      expect(runs.every(({ actor, failure }) => actor === 'worker' && failure === null)).toBe(true);
      const pauses = runs.slice(1).map(({ startedAt }, index) => +startedAt - +(runs[index]?.startedAt ?? 0));
      for (const pauseMs of pauses) expect(pauseMs).toBeGreaterThanOrEqual(intervalMs);
    }
  });
});
