import { clearImmediate, setImmediate } from 'node:timers';
import { expect, test } from 'vitest';
import { replayPolicies } from '#shared/insights/replay.ts';
import { openFairLimit } from '#shared/platform/concurrency/fair-limit.ts';

test('a replay lets others be served while it evaluates a page of refunds', async () => {
  const createdAt = new Date('2026-11-20T09:30:00.000Z');
  const refund = {
    id: 'ref_1',
    paymentId: 1n,
    requester: 'key:key_1',
    amount: 100n,
    currency: 'usd',
    createdAt,
  };
  const page = Array.from({ length: 499 }, () => ({ ...refund, paidAmount: null, endedAt: null }));
  // Where to begin, the page, and what its payments were refunded before. Nothing of it takes a turn of the event loop.
  const answers: object[][] = [[], page, []];
  const deps = {
    db: { $queryRaw: async () => answers.shift() ?? [] },
    clock: { now: () => createdAt },
    replays: openFairLimit({ inAll: 1, perOwner: 1 }),
  };
  let turns = 0;
  let next = setImmediate(function count() {
    turns += 1;
    next = setImmediate(count);
  });
  const owner = { organizationId: 'org_1', environment: 'test' } as const;
  const replay = await replayPolicies(deps as never, owner, { current: [], proposed: [] });
  clearImmediate(next);
  expect(replay.skippedCount).toBe(499);
  expect(turns).toBeGreaterThanOrEqual(9);
});
