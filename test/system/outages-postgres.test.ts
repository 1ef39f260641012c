import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { closeDependencies, openDependencies } from '#shared/dependencies.ts';
import { openLog } from '#shared/platform/log.ts';
import type { QueueWorker } from '#shared/platform/queues.ts';
import { startWorkers } from '#worker/start-workers.ts';
import { PROCESSORS } from '../sandbox/processors.ts';
import { allComplete, create, timed } from '../support/faults/refunds.ts';
import { OwnPostgres } from '../support/faults/stores.ts';
import { webhookAbout } from '../support/processors/signed-webhooks.ts';
import { openWebhooks, reportOf, type Webhooks } from '../support/processors/webhooks.ts';
import { expectInvariants } from '../support/refunds/invariants.ts';
import { newPayment } from '../support/refunds/payments.ts';
import { rowOf } from '../support/refunds/refund-records.ts';
import { releaseTest, testedBackends } from '../support/release.ts';
import { type ApiAnswer, startService, type TestService } from '../support/service.ts';
import { waitFor } from '../support/wait-for.ts';

/** The longest wait for an answer while the database hangs. */
const frozenAnswerMs = 15_000;

const async = { prefer: 'respond-async' };

describe.each(testedBackends)('an outage of PostgreSQL, queues on $name', (backend) => {
  let postgres: OwnPostgres;
  let service: TestService;
  let webhooks: Webhooks;
  let worker: QueueWorker;

  beforeAll(async () => {
    postgres = await OwnPostgres.open();
    const settings = { CREATE_WAIT_MS: 1_000 };
    service = await startService({ databaseUrl: postgres.url, backend, workers: 0, settings });
    await service.sandbox.settings({ autoSettleMs: 100, latencyMs: 0 });
    webhooks = await openWebhooks(service);
    worker = service.startWorker();
  });
  afterEach(() => expectInvariants(service));
  afterAll(async () => {
    await service.close();
    await postgres.remove();
  });

  test('is answered with 503 at once, and everything works when the database is back', async () => {
    const known = await create(service, await newPayment(service, { processor: 'stripe' }));
    const refund = await rowOf(service, known.body.data.id);
    const webhook = webhookAbout('stripe', { ...reportOf(refund), processorStatus: 'failed' });
    const address = await webhooks.addressOf('stripe');
    const transactionId = await newPayment(service, { processor: 'stripe' });
    await postgres.stop();
    await expectNotReady();
    await expectUnavailable(transactionId, refund.id, 5_000);
    expect(await webhooks.send('stripe', webhook, address)).toMatchObject({ status: 503 });
    await postgres.start();
    await expectEverythingWorks();
    await expectKeyToBeFree(transactionId);
  });

  releaseTest(
    'in which the database hangs keeps no client waiting for long, and 503 means that nothing was done',
    async () => {
      const known = await create(service, await newPayment(service, { processor: 'stripe' }));
      const caught = await createInARow(24);
      postgres.freeze();
      const transactionId = await newPayment(service, { processor: 'stripe' });
      await Promise.all([
        expectUnavailable(transactionId, known.body.data.id, frozenAnswerMs),
        expectNotReady(),
      ]);
      const answers = await Promise.all(caught);
      postgres.thaw();
      await expectEverythingWorks();
      for (const answer of answers) await expectTruth(answer);
      await expectKeyToBeFree(transactionId);
    },
  );

  /** Starts creations one after the other, so that the outage meets them at different steps. */
  async function createInARow(count: number) {
    const payments = await Promise.all(
      Array.from({ length: count }, () => newPayment(service, { processor: 'stripe' })),
    );
    const creating = payments.map(async (transactionId, index) => {
      await sleep(index * 4);
      return { transactionId, ...(await create(service, transactionId, async)) };
    });
    await sleep(60);
    return creating;
  }

  async function expectTruth(answer: ApiAnswer & { transactionId: string; ms: number }): Promise<void> {
    const { transactionId, status, body, ms } = answer;
    const created = await service.deps.db.refund.count({ where: { transactionId } });
    if (status === 200) expect(created).toBe(1);
    else if (status === 503) expect(created).toBe(0);
    else expect(body.error.message).toMatch(/It is unknown whether/);
    expect(ms).toBeLessThan(frozenAnswerMs);
  }

  async function expectUnavailable(transactionId: string, refundId: string, withinMs: number): Promise<void> {
    const answers = await Promise.all([
      create(service, transactionId),
      create(service, transactionId, keyOf(transactionId)),
      timed(service.call('GET', `/v1/refunds/${refundId}`)),
      timed(service.call('GET', '/v1/refunds')),
      timed(service.call('POST', `/v1/refunds/${refundId}/cancel`)),
      timed(service.call('POST', '/v1/policies/check', { body: { transactionId } })),
    ]);
    for (const { status, body, headers, ms } of answers) {
      expect([status, body.error.code]).toEqual([503, 'service_unavailable']);
      expect(Number(headers['retry-after'])).toBeGreaterThan(0);
      expect(ms).toBeLessThan(withinMs);
    }
  }

  function keyOf(transactionId: string) {
    return { 'idempotency-key': `outage-${transactionId}` };
  }

  async function expectKeyToBeFree(transactionId: string): Promise<void> {
    const { status, headers } = await create(service, transactionId, keyOf(transactionId));
    expect([status, headers['idempotent-replayed']]).toEqual([200, undefined]);
    await allComplete(service);
  }

  async function expectNotReady(): Promise<void> {
    const [alive, ready] = await Promise.all([
      service.call('GET', '/healthz'),
      timed(service.call('GET', '/readyz')),
    ]);
    expect(alive.status).toBe(200);
    expect(ready).toMatchObject({ status: 503, body: { status: 'unavailable', database: 'down' } });
    expect(ready.ms).toBeLessThan(3_000);
  }

  async function expectEverythingWorks(): Promise<void> {
    await waitFor(
      'the API to be ready',
      async () => (await service.call('GET', '/readyz')).body.status === 'ok',
      { intervalMs: 100 },
    );
    for (const processor of PROCESSORS) {
      expect((await create(service, await newPayment(service, { processor }))).status).toBe(200);
    }
    await allComplete(service);
  }

  releaseTest(
    'does not keep API and worker from starting, and they work once the database is there',
    async () => {
      await worker.close();
      await create(service, await newPayment(service, { processor: 'stripe' }), async);
      await postgres.stop();
      const deps = openDependencies(service.settings, openLog('silent', 'late'));
      deps.queues.wake('stripe');
      const late = startWorkers(deps);
      // Long enough for each of its parts to have failed once.
      await sleep(1_500);
      await postgres.start();
      await allComplete(service);
      await late.close();
      await closeDependencies(deps);
    },
  );
});
