import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { queueBackends } from '../harness/backends.ts';
import { useDatabase } from '../harness/database.ts';
import { expectInvariants } from '../harness/invariants.ts';
import {
  accept,
  openProcesses,
  type Processes,
  refundOfNewPayment,
  rowOf,
  timelineOf,
  untilAtProcessor,
  untilCompleted,
} from './crash-bench.ts';

const processors = ['stripe', 'braintree'] as const;

describe.each(queueBackends)('when processes end, queues on $name', (backend) => {
  const databaseUrl = useDatabase();
  let processes: Processes;

  beforeAll(async () => {
    processes = await openProcesses(databaseUrl(), backend);
  });
  afterEach(async () => {
    await processes.service.sandbox.clearFaults();
    await expectInvariants(processes.service);
  });
  afterAll(() => processes.close());

  test('a worker that is killed in the middle of its calls costs time, and no refund moves twice', async () => {
    const { service } = processes;
    const doomed = await processes.startWorker();
    const applied = await holdAtProcessors('timeout-after-apply');
    const lost = await holdAtProcessors('timeout');
    await doomed.kill9();
    const survivor = await processes.startWorker();
    const others = await Promise.all(processors.map((processor) => accept(service, processor)));
    const otherMs = await untilCompleted(service, others, 10_000);
    const appliedMs = await untilCompleted(service, applied, 60_000);
    const lostMs = await untilCompleted(service, lost, 30_000);
    console.log(
      `Worker killed (${backend.name}): others complete after ${otherMs} ms, ` +
        `applied ones ${appliedMs} ms later, lost ones another ${lostMs} ms later`,
    );
    for (const id of applied) expect((await rowOf(service, id)).attemptCount).toBe(1);
    for (const id of lost) expect((await rowOf(service, id)).attemptCount).toBe(2);
    await survivor.stop();
  }, 120_000);

  async function holdAtProcessors(kind: string): Promise<string[]> {
    const { service } = processes;
    for (const processor of processors) {
      await service.sandbox.fault({ processor, operation: 'refund.create', kind });
    }
    const ids = await Promise.all(processors.map((processor) => accept(service, processor)));
    await untilAtProcessor(service, ids);
    return ids;
  }

  test('a worker that is asked to end finishes its calls, writes down what came of them, and ends well', async () => {
    const { service } = processes;
    const worker = await processes.startWorker();
    for (const processor of processors) {
      await service.sandbox.fault({ processor, operation: 'refund.create', kind: 'delay', delayMs: 1_500 });
    }
    const ids = await Promise.all(processors.map((processor) => accept(service, processor)));
    await untilAtProcessor(service, ids);
    expect(await worker.stop()).toEqual({ code: 0, signal: null });
    for (const id of ids) {
      expect((await rowOf(service, id)).externalRefundId).not.toBeNull();
      expect((await timelineOf(service, id)).slice(1, 3)).toEqual(['attempt.started', 'attempt.accepted']);
    }
    const next = await processes.startWorker();
    await untilCompleted(service, ids, 20_000);
    await next.stop();
  }, 60_000);

  test('an API that is killed takes no refund along, neither an answered one nor one that is waited for', async () => {
    const { service } = processes;
    const worker = await processes.startWorker();
    const api = await processes.startApi();
    await service.sandbox.fault({
      processor: 'stripe',
      operation: 'refund.create',
      kind: 'delay',
      delayMs: 1_000,
    });
    const waited = api
      .post('/v1/refunds', await refundOfNewPayment(service, 'stripe'))
      .catch(() => 'cut off');
    const body = await refundOfNewPayment(service, 'braintree');
    const answered = await api.post('/v1/refunds', body, { prefer: 'respond-async' });
    await api.process.kill9();
    expect(answered.status).toBe(200);
    expect(await waited).toBe('cut off');
    const refunds = await service.deps.db.refund.findMany({ where: { status: 'processing' } });
    expect(refunds.map(({ processor }) => processor).toSorted()).toEqual(['braintree', 'stripe']);
    const ms = await untilCompleted(
      service,
      refunds.map(({ id }) => id),
      20_000,
    );
    console.log(`API killed (${backend.name}): complete after ${ms} ms`);
    await worker.stop();
  }, 60_000);

  test('an API that is asked to end answers who still waits, and ends well', async () => {
    const { service } = processes;
    const api = await processes.startApi({ CREATE_WAIT_MS: '20000' });
    const creating = api.post('/v1/refunds', await refundOfNewPayment(service, 'stripe'));
    await untilWaiting();
    const since = performance.now();
    const exit = await api.process.stop();
    const { status, body } = await creating;
    expect({ status, refund: body.data.status }).toEqual({ status: 200, refund: 'processing' });
    expect(exit).toEqual({ code: 0, signal: null });
    expect(performance.now() - since).toBeLessThan(5_000);
    const worker = await processes.startWorker();
    await untilCompleted(service, [body.data.id], 20_000);
    await worker.stop();
  }, 60_000);

  async function untilWaiting(): Promise<void> {
    await expect
      .poll(() => processes.service.deps.db.refund.count({ where: { status: 'processing' } }), {
        timeout: 10_000,
      })
      .toBe(1);
  }
});
