import { afterEach, describe, expect, test, vi } from 'vitest';
import { Prisma } from '../../../shared/platform/database.ts';
import type { MaintenanceJob } from '../../../shared/platform/queues.ts';
import { requestResync } from '../../../shared/refunds/lifecycle/resync.ts';
import { startSweeping, sweep } from '../../../worker/schedule/sweep.ts';
import { accept } from '../../support/processes/service-processes.ts';
import { expectInvariants } from '../../support/refunds/invariants.ts';
import { queueBackends } from '../../support/stores/backends.ts';
import { useService } from '../../support/use-service.ts';
import { waitFor } from '../../support/wait-for.ts';

describe('the sweep', () => {
  const service = useService({ workers: 0, settings: { SWEEP_INTERVAL_MS: 20 } });

  afterEach(async () => {
    vi.restoreAllMocks();
    // Out of the way of the next test.
    await service.deps.db.refundWork.updateMany({ data: { dueAt: new Date('2100-01-01') } });
    await expectInvariants(service);
  });

  /** Refunds that are due and that nobody was woken for; answers their ids. */
  async function dueRefunds(processor: string, count: number): Promise<string[]> {
    vi.spyOn(service.deps.queues, 'wake').mockImplementation(() => {});
    const ids: string[] = [];
    for (let index = 0; index < count; index += 1) ids.push(await accept(service, processor));
    await service.deps.db.refundWork.updateMany({
      where: { refundId: { in: ids } },
      data: { enqueuedAt: null },
    });
    return ids;
  }

  /** Takes the place of the queues; answers who was woken so far. */
  function watchWakes(hold: (processor: string) => Promise<void> = async () => {}): string[] {
    const woken: string[] = [];
    vi.spyOn(service.deps.queues, 'wakeAll').mockImplementation(async (processor, ids) => {
      woken.push(...ids);
      await hold(processor);
    });
    return woken;
  }

  test('wakes every refund that is due once, however many workers sweep at the same time', async () => {
    const due = [...(await dueRefunds('stripe', 12)), ...(await dueRefunds('braintree', 12))];
    const woken = watchWakes();
    const sweeping = Array.from({ length: 5 }, () => startSweeping(service.deps));
    await waitFor('all of them to be woken', () => woken.length >= due.length);
    await Promise.all(sweeping.map((worker) => worker.close()));
    expect(woken.toSorted()).toEqual(due.toSorted());
  });

  test('is not started again while it runs, holds up no other processor, and is waited for at the end', async () => {
    let release = () => {};
    const held = new Promise<void>((resolve) => {
      release = resolve;
    });
    const woken = watchWakes(async (processor) => {
      if (processor === 'stripe') await held;
    });
    const [first = ''] = await dueRefunds('stripe', 1);
    const sweeping = startSweeping(service.deps);
    await waitFor('the sweep to hang', () => woken.length === 1);
    await dueRefunds('stripe', 1);
    for (const id of await dueRefunds('braintree', 2)) {
      await waitFor('the other processor to be swept all the same', () => woken.includes(id));
    }
    expect(woken.filter((id) => id === first)).toHaveLength(1);
    expect(woken).toHaveLength(3);
    let closed = false;
    const closing = sweeping.close().then(() => {
      closed = true;
    });
    await sweep(service.deps, 'braintree');
    expect(closed).toBe(false);
    release();
    await closing;
  });

  test('goes on after one that failed', async () => {
    const woken = watchWakes();
    vi.spyOn(service.deps.db, '$queryRaw')
      .mockRejectedValueOnce(new Error('gone'))
      .mockRejectedValueOnce(new Error('gone'));
    const sweeping = startSweeping(service.deps);
    const [id = ''] = await dueRefunds('stripe', 1);
    await waitFor('it to be woken', () => woken.includes(id));
    await sweeping.close();
  });
});

describe('a backlog that is longer than one sweep', () => {
  const service = useService({ workers: 0 });

  test('does not keep news of refunds that have ended waiting behind it', async () => {
    const woken = vi.spyOn(service.deps.queues, 'wakeAll').mockResolvedValue();
    const { db } = service.deps;
    const ago = (ms: number) => new Date(Date.now() - ms);
    const id = await accept(service, 'stripe');
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
    // The first wake was that of its creation.
    expect(woken.mock.lastCall?.[1]).toContain(id);
  });
});

describe.each(queueBackends)('a schedule that another release left behind, queues on $name', (backend) => {
  const service = useService({ backend, workers: 0 });

  test('is ended by the first worker that meets it', async () => {
    const unschedule = vi.spyOn(service.deps.queues, 'unschedule');
    const met = (name: string) => unschedule.mock.calls.filter(([ended]) => ended === name).length;
    await service.deps.queues.schedule('sweep' as MaintenanceJob, 10);
    const worker = service.startWorker();
    await waitFor('it to be met', () => met('sweep') > 0);
    // Others, met one after the other, show how often it would be met if it were still there.
    for (let index = 0; index < 10; index += 1) {
      const other = `other-${index}`;
      await service.deps.queues.schedule(other as MaintenanceJob, 60 * 60 * 1000);
      await waitFor('another one to be met', () => met(other) > 0);
    }
    // A job of it that was made already may have followed the first one.
    expect(met('sweep')).toBeLessThanOrEqual(2);
    await worker.close();
  });
});
