import { afterEach, describe, expect, test } from 'vitest';
import { PROCESSORS } from '../sandbox/ledger/ledger.ts';
import { accept, refundOfNewPayment, untilAtProcessor, untilCompleted } from '../support/faults/refunds.ts';
import { useDeployment } from '../support/faults/use-deployment.ts';
import { expectInvariants } from '../support/refunds/invariants.ts';
import { rowOf, timelineOf } from '../support/refunds/refund-records.ts';
import { releaseTest, testedBackends } from '../support/release.ts';
import { waitFor } from '../support/wait-for.ts';

/** Long enough for two lookups at once on a slow machine. */
const patient = { PROCESSOR_TIMEOUT_MS: '10000' };

describe.each(testedBackends)('processes that end, queues on $name', (backend) => {
  const processes = useDeployment({ backend });
  afterEach(async () => {
    await processes.service.sandbox.clearFaults();
    await processes.service.sandbox.settings({ latencyMs: 0 });
    await expectInvariants(processes.service);
  });

  test('refunds of killed workers complete, and none moves twice', async () => {
    const { service } = processes;
    const first = await processes.startWorker(patient);
    const applied = await holdAtProcessors('timeout-after-apply');
    const lost = await holdAtProcessors('timeout');
    await first.kill();
    const killedAt = performance.now();
    const [second, survivor] = await Promise.all([
      processes.startWorker(patient),
      processes.startWorker(patient),
    ]);
    await service.sandbox.settings({ latencyMs: 1_500 });
    const burst = await Promise.all(
      [...PROCESSORS, ...PROCESSORS, ...PROCESSORS].map((processor) => accept(service, processor)),
    );
    await waitFor('some refunds to be sent', async () => {
      const sent = { id: { in: burst }, work: { attemptNumber: { gt: 0 } }, externalRefundId: null };
      return (await service.deps.db.refund.count({ where: sent })) > 2;
    });
    await second.kill();
    await service.sandbox.settings({ latencyMs: 0 });
    const later = await Promise.all(PROCESSORS.map((processor) => accept(service, processor)));
    const laterMs = await untilCompleted(service, later);
    await untilCompleted(service, applied);
    const appliedMs = Math.round(performance.now() - killedAt);
    await untilCompleted(service, [...lost, ...burst]);
    console.log(
      `Workers killed (${backend.name}): interrupted refunds complete after ${appliedMs} ms, new ones after ${laterMs} ms`,
    );
    for (const id of applied) {
      expect((await rowOf(service, id)).attemptCount).toBe(1);
      expect(await timelineOf(service, id)).toContain('lookup.found');
    }
    for (const id of lost) {
      expect((await rowOf(service, id)).attemptCount).toBe(2);
      expect(await timelineOf(service, id)).toContain('lookup.absent');
    }
    await survivor.stop();
  });

  /** Sends one refund per processor and holds back the answer. */
  async function holdAtProcessors(kind: string): Promise<string[]> {
    const { service } = processes;
    for (const processor of PROCESSORS) {
      await service.sandbox.fault({ processor, operation: 'refund.create', kind });
    }
    const ids = await Promise.all(PROCESSORS.map((processor) => accept(service, processor)));
    await untilAtProcessor(service, ids);
    return ids;
  }

  releaseTest(
    'a worker that gets SIGTERM finishes its calls, records their outcomes, and exits with 0',
    async () => {
      const { service } = processes;
      const worker = await processes.startWorker({ PROCESSOR_TIMEOUT_MS: '20000' });
      for (const processor of PROCESSORS) {
        await service.sandbox.fault({ processor, operation: 'refund.create', kind: 'delay', delayMs: 3_000 });
      }
      const ids = await Promise.all(PROCESSORS.map((processor) => accept(service, processor)));
      await untilAtProcessor(service, ids);
      expect(await worker.stop()).toEqual({ code: 0, signal: null });
      for (const id of ids) {
        expect(await rowOf(service, id)).toMatchObject({
          externalRefundId: expect.any(String),
          attempts: [{ outcome: 'accepted' }],
        });
        expect((await timelineOf(service, id))[1]).toBe('attempt.accepted');
      }
      await expectToComplete(ids);
    },
  );

  test('a killed API loses no refund, whether its client was answered or still waits', async () => {
    const { service } = processes;
    const [api, worker] = await Promise.all([
      processes.startApi({ CREATE_WAIT_MS: '20000' }),
      processes.startWorker(patient),
    ]);
    const fault = { processor: 'stripe', operation: 'refund.create', kind: 'delay', delayMs: 3_000 };
    await service.sandbox.fault(fault);
    const body = await refundOfNewPayment(service, 'stripe');
    const headers = { 'idempotency-key': `killed-${body.transactionId}` };
    const waited = api.post('/v1/refunds', body, headers).catch(() => 'cut off');
    const open = await waitFor('the first refund to be at its processor', () =>
      service.deps.db.refund.findFirst({
        where: { status: 'processing', work: { attemptNumber: { gt: 0 } } },
      }),
    );
    const other = await refundOfNewPayment(service, 'braintree');
    const answered = await api.post('/v1/refunds', other, { prefer: 'respond-async' });
    await api.process.kill();
    expect(answered.status).toBe(200);
    expect(await waited).toBe('cut off');
    await expectSameRefundFor(headers, body, open.id);
    const ms = await untilCompleted(service, [open.id, answered.body.data.id]);
    console.log(`API killed (${backend.name}): its refunds complete after ${ms} ms`);
    await expectSameRefundFor(headers, body, open.id);
    await worker.stop();
  });

  /** Repeats a request whose API was killed between its commit and its answer. */
  async function expectSameRefundFor(headers: Record<string, string>, body: object, refundId: string) {
    const again = await processes.service.call('POST', '/v1/refunds', {
      body,
      headers: { ...headers, prefer: 'respond-async' },
    });
    expect({ status: again.status, id: again.body.data?.id }).toEqual({ status: 200, id: refundId });
    expect(again.headers['idempotent-replayed']).toBe('true');
    const { transactionId } = await rowOf(processes.service, refundId);
    expect(await processes.service.deps.db.refund.count({ where: { transactionId } })).toBe(1);
  }

  test('an API that gets SIGTERM answers waiting clients and exits with 0', async () => {
    const { service } = processes;
    const api = await processes.startApi({ CREATE_WAIT_MS: '20000' });
    const headers = { 'idempotency-key': `asked-to-end-${backend.name}` };
    const creating = api.post('/v1/refunds', await refundOfNewPayment(service, 'stripe'), headers);
    await waitFor('the refund to be on record', () =>
      service.deps.db.refund.findFirst({ where: { status: 'processing' } }),
    );
    const since = performance.now();
    const exit = await api.process.stop();
    const { status, body } = await creating;
    expect({ status, refund: body.data.status }).toEqual({ status: 200, refund: 'processing' });
    expect(exit).toEqual({ code: 0, signal: null });
    expect(performance.now() - since).toBeLessThan(15_000);
    await expectToComplete([body.data.id]);
  });

  /** Finishes open refunds with a worker of this process. */
  async function expectToComplete(ids: readonly string[]): Promise<void> {
    const worker = processes.service.startWorker();
    await untilCompleted(processes.service, ids);
    await worker.close();
  }
});
