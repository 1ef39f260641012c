import { once } from 'node:events';
import { connect } from 'node:net';
import { afterEach, describe, expect, test } from 'vitest';
import { PROCESSORS } from '../sandbox/processors.ts';
import { useDeployment } from '../support/faults/use-deployment.ts';
import { expectInvariants } from '../support/refunds/invariants.ts';
import { newRefund } from '../support/refunds/new-refund.ts';
import { newPayment } from '../support/refunds/payments.ts';
import { rowOf, untilCompleted } from '../support/refunds/refund-records.ts';
import { releaseTest, testedBackends } from '../support/release.ts';
import type { TestService } from '../support/service.ts';
import { query } from '../support/stores/database-client.ts';
import { waitFor } from '../support/wait-for.ts';

/** The body of a refund of a tenth of a new payment. */
async function refundOfNewPayment(service: TestService, processor: string) {
  const transactionId = await newPayment(service, { processor });
  return { transactionId, amount: 1_000, reason: 'other', processor };
}

/** Waits until the refunds have met the faults that were armed for them, and their outcome is unknown. */
async function untilAtProcessor(service: TestService, ids: readonly string[]): Promise<void> {
  await waitFor('the refunds to be at their processors', async () => {
    const sent = { id: { in: [...ids] }, work: { attemptStartedAt: { not: null } }, externalRefundId: null };
    // The attempt is on record before the call is made, which meets the fault.
    const areMet = (await service.sandbox.faults()).length === 0;
    return areMet && (await service.deps.db.refund.count({ where: sent })) === ids.length;
  });
}

describe.each(testedBackends)('processes, queues on $name', (backend) => {
  const processes = useDeployment({ backend });
  afterEach(async () => {
    await processes.service.sandbox.clearFaults();
    await expectInvariants(processes.service);
  });

  /** Finishes open refunds with a worker of this process. */
  async function expectToComplete(ids: readonly string[]): Promise<void> {
    const worker = processes.service.startWorker();
    await untilCompleted(processes.service, ids);
    await worker.close();
  }

  releaseTest(
    'a worker that gets SIGTERM finishes its calls, records outcomes, and exits with 0',
    async () => {
      const { service } = processes;
      const worker = await processes.startWorker({ PROCESSOR_TIMEOUT_MS: '20000' });
      for (const processor of PROCESSORS) {
        await service.sandbox.fault({ processor, operation: 'refund.create', kind: 'delay', delayMs: 3_000 });
      }
      const ids = await Promise.all(
        PROCESSORS.map(async (processor) => (await newRefund(service, { processor })).id),
      );
      await untilAtProcessor(service, ids);
      expect(await worker.stop()).toEqual({ code: 0, signal: null });
      for (const id of ids) {
        expect(await rowOf(service, id)).toMatchObject({
          externalRefundId: expect.any(String),
          attempts: [{ outcome: 'accepted' }],
        });
      }
      await expectToComplete(ids);
    },
  );

  test('an API that gets SIGTERM answers waiting clients, closes unused connections, and exits with 0', async () => {
    const { service } = processes;
    // Longer than it may take to stop.
    const api = await processes.startApi({ CREATE_WAIT_MS: '60000' });
    const unused = connect(Number(new URL(api.url).port), '127.0.0.1');
    await once(unused, 'connect');
    const creating = api.post('/v1/refunds', await refundOfNewPayment(service, 'stripe'));
    await waitFor('the refund to be on record', () =>
      service.deps.db.refund.findFirst({ where: { status: 'processing' } }),
    );
    const exit = await api.process.stop();
    const { status, body } = await creating;
    expect({ status, refund: body.data.status }).toEqual({ status: 200, refund: 'processing' });
    expect(exit).toEqual({ code: 0, signal: null });
    unused.destroy();
    await expectToComplete([body.data.id]);
  });

  test.each([
    ['get a second signal', '600000', true],
    ['have not stopped within their time limit', '100', false],
  ])('a worker and an API that %s end at once, with 1', async (_what, limitMs, isAskedAgain) => {
    const { service } = processes;
    // Both wait for the processor for longer than they may take to stop.
    const settings = { SHUTDOWN_TIMEOUT_MS: limitMs, TRANSACTION_READ_TIMEOUT_MS: '60000' };
    for (const operation of ['refund.create', 'transaction.get'])
      await service.sandbox.fault({ processor: 'stripe', operation, kind: 'delay', delayMs: 60_000 });
    const api = await processes.startApi(settings);
    const creating = api.post('/v1/refunds', await refundOfNewPayment(service, 'stripe')).catch(() => null);
    const isMet = async (operation: string) =>
      (await service.sandbox.faults()).every((fault) => fault.operation !== operation);
    await waitFor('the API to read the payment', () => isMet('transaction.get'));
    await newRefund(service, { processor: 'stripe' });
    const worker = await processes.startWorker({ ...settings, PROCESSOR_TIMEOUT_MS: '60000' });
    await waitFor('the worker to send the refund', () => isMet('refund.create'));
    for (const started of [worker, api.process]) {
      const ended = started.stop();
      if (isAskedAgain) {
        await waitFor('the stop to begin', () => started.output().includes('"closing"'));
        void started.stop();
      }
      expect(await ended, started.name).toEqual({ code: 1, signal: null });
    }
    expect(await creating).toBeNull();
  });

  releaseTest(
    'an API whose clock is an hour ahead and a worker an hour behind complete refunds',
    async () => {
      const { service } = processes;
      const skewed = (ms: number) => [{ FALSE_TIME_AHEAD_MS: String(ms) }, 'false-system-time'] as const;
      const [api, worker] = await Promise.all([
        processes.startApi(...skewed(3_600_000)),
        processes.startWorker(...skewed(-3_600_000)),
      ]);
      const faults = { stripe: 'rate-limit', braintree: 'timeout-after-apply' };
      const ids: string[] = [];
      for (const [processor, kind] of Object.entries(faults)) {
        await service.sandbox.fault({ processor, operation: 'refund.create', kind });
        const { status, body } = await api.post('/v1/refunds', await refundOfNewPayment(service, processor));
        expect(status).toBe(200);
        ids.push(body.data.id);
      }
      await untilCompleted(service, ids);
      // Dated by the database.
      const [dates] = await query(
        service.databaseUrl,
        `SELECT max(abs(extract(epoch FROM clock_timestamp() - at))) AS seconds FROM (
         SELECT created_at AS at FROM refund UNION ALL SELECT created_at FROM refund_event UNION ALL
         SELECT (detail->'attempt'->>'startedAt')::timestamptz FROM refund_event) AS dates`,
      );
      expect(Number(dates?.seconds)).toBeLessThan(600);
      await Promise.all([api.process.stop(), worker.stop()]);
    },
  );

  releaseTest('an API whose event loop is busy refuses at once, and recovers', async () => {
    const { service } = processes;
    const busy = { MAX_EVENT_LOOP_DELAY_MS: '200', BUSY_FOR_MS: '10000', BUSY_PIECE_MS: '400' };
    const api = await processes.startApi(busy, 'busy-event-loop');
    const readiness = () => fetch(`${api.url}/readyz`);
    process.kill(api.process.pid, 'SIGUSR2');
    const told = await waitFor('/readyz to report it', async () => {
      const response = await readiness();
      return response.status === 503 && response.json();
    });
    expect(told).toEqual({ status: 'overloaded' });
    const body = await refundOfNewPayment(service, 'stripe');
    const [refused, alive, webhook, page] = await Promise.all([
      api.post('/v1/refunds', body),
      fetch(`${api.url}/healthz`),
      fetch(`${api.url}/webhooks/stripe/acc_1`, { method: 'POST' }),
      fetch(`${api.url}/dashboard/sign-in`),
    ]);
    expect([refused.status, alive.status, webhook.status, page.status]).toEqual([503, 200, 503, 503]);
    expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(0);
    expect(refused.body.error.code).toBe('service_unavailable');
    const { transactionId } = body;
    expect(await service.deps.db.refund.count({ where: { transactionId } })).toBe(0);
    await waitFor('the API to be ready', async () => (await readiness()).status === 200);
    const created = await api.post('/v1/refunds', body);
    expect(created.status).toBe(200);
    await expectToComplete([created.body.data.id]);
    await api.process.kill();
  });
});
