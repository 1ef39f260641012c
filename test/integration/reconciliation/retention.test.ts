import { beforeEach, expect, test } from 'vitest';
import { newId } from '#shared/platform/ids.ts';
import { nextWindow, scheduleActor } from '#shared/reconciliation/runs.ts';
import { retention } from '#worker/schedule/retention.ts';
import { accountOf } from '../../support/processors/reconciliation.ts';
import { useService } from '../../support/use-service.ts';

const service = useService({ workers: 0 });

const dayMs = 24 * 60 * 60 * 1000;

beforeEach(async () => {
  await service.deps.db.reconciliationFinding.deleteMany();
  await service.deps.db.reconciliationRun.deleteMany();
});

/** A run that finished so many days ago. */
async function storeRun(
  daysAgo: number,
  { actor = scheduleActor, failure = null as string | null, findingCount = 1 } = {},
): Promise<string> {
  const id = newId('rec');
  const at = new Date(Date.now() - daysAgo * dayMs);
  const { id: accountId } = await accountOf(service, 'stripe');
  const times = { windowStart: at, windowEnd: at, startedAt: at, finishedAt: at };
  const what = { kind: 'made_elsewhere', action: 'payment_read', facts: {} };
  const findings = Array.from({ length: findingCount }, () => ({ id: newId('fin'), ...what }));
  // At once, because the worker beside the test deletes old runs as well.
  await service.deps.db.reconciliationRun.create({
    data: { id, accountId, actor, failure, ...times, findings: { createMany: { data: findings } } },
  });
  return id;
}

async function keptRuns(): Promise<string[]> {
  const runs = await service.deps.db.reconciliationRun.findMany({ orderBy: { startedAt: 'asc' } });
  return runs.map(({ id }) => id);
}

test('deletes runs and findings after 400 days, however many there are, and no sooner', async () => {
  await storeRun(401, { findingCount: 2_500 });
  await storeRun(401, { actor: 'cli:ada' });
  const kept = [await storeRun(399), await storeRun(1)];
  await retention.expireReconciliations(service.deps);
  expect(await keptRuns()).toEqual(kept);
  expect(await service.deps.db.reconciliationFinding.count()).toBe(2);
});

test('keeps the last good scheduled run however old it is, because the next window begins at its end', async () => {
  const account = await accountOf(service, 'stripe');
  await storeRun(900);
  const lastGood = await storeRun(800);
  await storeRun(700, { failure: 'no answer' });
  await storeRun(600, { actor: 'cli:ada' });
  const { from } = await nextWindow(service.deps, account);
  const { windowEnd } = await service.deps.db.reconciliationRun.findUniqueOrThrow({
    where: { id: lastGood },
  });
  expect(windowEnd.getTime() - from.getTime()).toBe(service.settings.RECONCILIATION_LOOKBACK_MS);
  await retention.expireReconciliations(service.deps);
  expect(await keptRuns()).toEqual([lastGood]);
  expect(await service.deps.db.reconciliationFinding.count({ where: { runId: lastGood } })).toBe(1);
  expect((await nextWindow(service.deps, account)).from).toEqual(from);
});
