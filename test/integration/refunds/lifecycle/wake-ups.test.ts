import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import type { DueClaims } from '#shared/refunds/lifecycle/statements.ts';
import { holdCalls } from '#test/support/processors/around-calls.ts';
import { expectInvariants } from '#test/support/refunds/invariants.ts';
import { newRefund } from '#test/support/refunds/new-refund.ts';
import { untilCompleted } from '#test/support/refunds/refund-records.ts';
import { queueBackends } from '#test/support/stores/backends.ts';
import { useService } from '#test/support/use-service.ts';
import { waitFor } from '#test/support/wait-for.ts';
import { startWorkers } from '#worker/start-workers.ts';

const hour = 3_600_000;

describe.each(queueBackends)('with the queue on $name', (backend) => {
  // Workers look by themselves as they start, and after an hour.
  const service = useService({
    backend,
    workers: 0,
    settings: {
      ...{ WORKER_CONCURRENCY: 2, SWEEP_INTERVAL_MS: hour, SETTLEMENT_BASE_MS: hour },
    },
    overrides: { random: () => 0 },
  });
  beforeEach(() => service.sandbox.settings({ autoSettleMs: 0 }));
  afterEach(async () => {
    vi.restoreAllMocks();
    await expectInvariants(service);
  });

  /** Starts a worker, which has looked once. */
  async function startIdle() {
    const looks = vi.spyOn(service.deps.statements, 'claimDue');
    const worker = startWorkers(service.deps);
    await waitFor('the first looks', () => looks.mock.settledResults.length >= 2);
    looks.mockRestore();
    return worker;
  }

  test('a hundred wake-ups of a moment are one job, and later ones none while it waits', async () => {
    const queue = service.deps.queues.map((each) => each).find(({ name }) => name === 'refunds-stripe');
    if (queue === undefined) throw new Error('There is no queue.');
    const add = vi.spyOn(queue, 'add');
    for (let count = 0; count < 100; count += 1) service.deps.queues.wake('stripe');
    await waitFor('the job', () => add.mock.settledResults[0]?.type === 'fulfilled');
    service.deps.queues.wake('stripe');
    await waitFor('the second call', () => add.mock.settledResults[1]?.type === 'fulfilled');
    expect(add).toHaveBeenCalledTimes(2);
    expect(await queue.getJobCounts('waiting', 'active', 'delayed')).toEqual({
      waiting: 1,
      active: 0,
      delayed: 0,
    });
  });

  test('calls that hang at one processor do not delay refunds at another', async () => {
    const held = holdCalls(service, 'createRefund', ({ processor }) => processor === 'braintree');
    const worker = await startIdle();
    for (let count = 0; count < 3; count += 1) await newRefund(service, { processor: 'braintree' });
    await waitFor('all places for Braintree to be taken', () => held.made() === 2);
    await untilCompleted(service, [(await newRefund(service)).id]);
    expect(held.made()).toBe(2);
    held.release();
    await waitFor('the third to be sent', () => held.made() === 3);
    await worker.close();
  });
});

describe('without wake-ups', () => {
  const service = useService({ workers: 0, settings: { SWEEP_INTERVAL_MS: 20 } });
  beforeEach(async () => {
    vi.spyOn(service.deps.queues, 'wake').mockImplementation(() => {});
    await service.sandbox.settings({ autoSettleMs: 0 });
  });
  afterEach(async () => {
    vi.restoreAllMocks();
    await expectInvariants(service);
  });

  test('workers find the refunds of one processor while those of another cannot be claimed', async () => {
    const { statements } = service.deps;
    let release = (_found: DueClaims) => {};
    const held = new Promise<DueClaims>((resolve) => {
      release = resolve;
    });
    const { claimDue } = statements;
    const looks = vi.spyOn(statements, 'claimDue');
    looks.mockImplementation((processor, most) =>
      processor === 'stripe' ? held : claimDue(processor, most),
    );
    await newRefund(service);
    const worker = service.startWorker();
    await untilCompleted(service, [
      (await newRefund(service, { processor: 'braintree' })).id,
      (await newRefund(service, { processor: 'braintree' })).id,
    ]);
    expect(looks.mock.calls.filter(([processor]) => processor === 'stripe')).toHaveLength(1);
    release({ claims: [], isMore: false, isWaiting: false });
    await worker.close();
  });
});
