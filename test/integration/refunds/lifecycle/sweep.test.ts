import { afterEach, describe, expect, test, vi } from 'vitest';
import { Prisma } from '../../../../shared/platform/database.ts';
import { type Claim, claimRefund } from '../../../../shared/refunds/lifecycle/claim.ts';
import { requestResync } from '../../../../shared/refunds/lifecycle/work.ts';
import { openWebhookSender } from '../../../../worker/deliver/deliver-webhook.ts';
import { startSchedule } from '../../../../worker/schedule/schedule.ts';
import { sweep } from '../../../../worker/schedule/sweep.ts';
import { scheduledTasks } from '../../../../worker/start-workers.ts';
import { accept } from '../../../support/faults/refunds.ts';
import { expectInvariants } from '../../../support/refunds/invariants.ts';
import { useService } from '../../../support/use-service.ts';
import { waitFor } from '../../../support/wait-for.ts';

const service = useService({
  workers: 0,
  // One connection, so that the session whose reads are counted is the one that counts.
  settings: { SWEEP_INTERVAL_MS: 20, DATABASE_POOL_SIZE: 1 },
});

afterEach(async () => {
  vi.restoreAllMocks();
  // Keeps them out of the next test.
  await service.deps.db.refundWork.updateMany({ data: { dueAt: new Date('2100-01-01') } });
});

/** Creates refunds that are due and not enqueued; returns their ids. */
async function dueRefunds(processor: string, count: number): Promise<string[]> {
  vi.spyOn(service.deps.queues, 'enqueue').mockImplementation(() => {});
  const ids: string[] = [];
  for (let index = 0; index < count; index += 1) ids.push(await accept(service, processor));
  await service.deps.db.refundWork.updateMany({
    where: { refundId: { in: ids } },
    data: { enqueuedAt: null },
  });
  return ids;
}

/** Replaces the queues; the list that is returned grows with what is enqueued. */
function watchEnqueued(hold: (processor: string) => Promise<void> = async () => {}): string[] {
  const enqueued: string[] = [];
  vi.spyOn(service.deps.queues, 'enqueueAll').mockImplementation(async (processor, ids) => {
    enqueued.push(...ids);
    await hold(processor);
  });
  return enqueued;
}

describe('the sweep', () => {
  afterEach(() => expectInvariants(service));

  test('enqueues every refund that is due once, however many workers sweep at the same time', async () => {
    const due = [...(await dueRefunds('stripe', 12)), ...(await dueRefunds('braintree', 12))];
    const enqueued = watchEnqueued();
    const workers = Array.from({ length: 5 }, () =>
      startSchedule(service.deps, scheduledTasks(service.deps, openWebhookSender(service.deps))),
    );
    await waitFor('all of them to be enqueued', () => enqueued.length >= due.length);
    await Promise.all(workers.map((worker) => worker.close()));
    expect(enqueued.toSorted()).toEqual(due.toSorted());
  });

  test('enqueues the refunds of one processor while the queue of another hangs', async () => {
    let release = () => {};
    const held = new Promise<void>((resolve) => {
      release = resolve;
    });
    const enqueued = watchEnqueued(async (processor) => {
      if (processor === 'stripe') await held;
    });
    await dueRefunds('stripe', 1);
    const worker = startSchedule(service.deps, scheduledTasks(service.deps, openWebhookSender(service.deps)));
    await waitFor('the sweep to hang', () => enqueued.length === 1);
    await dueRefunds('stripe', 1);
    for (const id of await dueRefunds('braintree', 2)) {
      await waitFor('the other processor to be swept', () => enqueued.includes(id));
    }
    expect(enqueued).toHaveLength(3);
    release();
    await worker.close();
  });

  test('goes on after one that failed', async () => {
    const enqueued = watchEnqueued();
    const [id = ''] = await dueRefunds('stripe', 1);
    vi.spyOn(service.deps.db, '$queryRaw')
      .mockRejectedValueOnce(new Error('gone'))
      .mockRejectedValueOnce(new Error('gone'));
    const worker = startSchedule(service.deps, scheduledTasks(service.deps, openWebhookSender(service.deps)));
    await waitFor('it to be enqueued', () => enqueued.includes(id));
    await worker.close();
  });
});

test('a backlog that is longer than one sweep does not delay a resync that is due earlier', async () => {
  const enqueued = watchEnqueued();
  const { db } = service.deps;
  const ago = (ms: number) => new Date(Date.now() - ms);
  const [id = ''] = await dueRefunds('stripe', 1);
  const { work, ...refund } = await db.refund.findUniqueOrThrow({ where: { id }, include: { work: true } });
  if (work === null) throw new Error('The refund has no work.');
  const backlog = Array.from({ length: 600 }, (_, index) => `ref_backlog${index}`);
  await db.refund.createMany({
    data: backlog.map((each) => ({ ...refund, id: each, apiKeyId: null, metadata: Prisma.DbNull })),
  });
  await db.refundWork.createMany({
    data: backlog.map((refundId) => ({
      ...work,
      refundId,
      dueAt: ago(60_000),
      enqueuedAt: null,
      flagFacts: {},
    })),
  });
  await db.refund.update({ where: { id }, data: { status: 'cancelled' } });
  await requestResync(db, { id });
  await db.refundWork.update({ where: { refundId: id }, data: { dueAt: ago(120_000) } });
  await sweep(service.deps, 'stripe');
  expect(enqueued).toContain(id);
});

test('a backlog is read once per sweep, then claimed and recorded by key, although it was planned when next to nothing was due', async () => {
  const enqueued = watchEnqueued();
  const { db } = service.deps;
  const [model = ''] = await dueRefunds('stripe', 1);
  await db.refundWork.deleteMany({ where: { refundId: { not: model } } });
  await db.$executeRaw`
    INSERT INTO refund (id, organization_id, environment, transaction_id, payment_id, processor, amount, currency, reason, status,
      initiated_by, requester, created_at, updated_at)
    SELECT 'ref_waiting' || n, organization_id, environment, transaction_id, payment_id, processor, 1, 'usd', 'other',
      'processing', 'api', requester, service_time(), service_time()
    FROM refund, generate_series(1, 7000) AS n WHERE refund.id = ${model}`;
  // As in an outage: the plan is from before, when next to nothing was due.
  await service.ownerDb.$executeRaw`VACUUM (FULL, ANALYZE) refund_work`;
  for (let rounds = 1; rounds <= 10; rounds += 1) {
    await sweep(service.deps, 'stripe');
    await postpone([await claimRefund(service.deps, model)], 0);
  }
  await db.refundWork.updateMany({ data: { dueAt: new Date('2100-01-01') } });
  await db.$executeRaw`
    INSERT INTO refund_work (refund_id, organization_id, environment, processor, due_at)
    SELECT id, organization_id, environment, processor,
      service_time() + CASE WHEN id LIKE '%0' THEN interval '0' ELSE interval '1 day' END
    FROM refund WHERE id LIKE 'ref_waiting%'`;
  enqueued.length = 0;
  for (const taken of [500, 700, 700]) {
    const before = await rowsRead();
    await sweep(service.deps, 'stripe');
    expect(enqueued).toHaveLength(taken);
    expect((await rowsRead()) - before).toBeLessThan(1_500);
  }
  expect(new Set(enqueued).size).toBe(700);
  const before = await rowsRead();
  const claims = await Promise.all(enqueued.slice(0, 100).map((id) => claimRefund(service.deps, id)));
  expect((await rowsRead()) - before).toBeLessThan(1_500);
  await postpone(claims, 60_000);
  expect((await rowsRead()) - before).toBeLessThan(3_000);
});

/** Records that nothing came of claims, which are due again later. */
async function postpone(claims: readonly (Claim | null)[], dueInMs: number): Promise<void> {
  const items = claims.map((claim) => ({
    ...{ refund_id: claim?.refund.id, lease_token: Number(claim?.work.leaseToken), expected: 'processing' },
    ...{ entries: [], change: {}, due_in_ms: dueInMs, is_known: true, ends_attempt: true },
  }));
  const results = await service.deps.db.$queryRaw<{ outcome: string }[]>`
    SELECT outcome FROM record_refunds(${JSON.stringify(items)}::jsonb)`;
  for (const { outcome } of results) expect(outcome).toBe(dueInMs === 0 ? 'due' : 'recorded');
}

/** How many rows of work were read in the table, and entries in its indexes. */
async function rowsRead(): Promise<number> {
  const { db } = service.deps;
  await db.$queryRaw`SELECT pg_stat_force_next_flush()::text`;
  const [row] = await db.$queryRaw<{ count: bigint }[]>`
    SELECT (seq_tup_read + (SELECT sum(idx_tup_read) FROM pg_stat_user_indexes AS i WHERE i.relid = t.relid))::bigint AS count
    FROM pg_stat_user_tables AS t WHERE relname = 'refund_work'`;
  return Number(row?.count);
}
