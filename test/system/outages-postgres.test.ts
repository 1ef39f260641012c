import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { closeDependencies, openDependencies } from '../../shared/dependencies.ts';
import { openLog } from '../../shared/platform/log.ts';
import type { QueueWorker } from '../../shared/platform/queues.ts';
import { startWorkers } from '../../worker/start-workers.ts';
import { PROCESSORS } from '../sandbox/ledger/ledger.ts';
import { allComplete, create, timed } from '../support/faults/refunds.ts';
import { OwnPostgres } from '../support/faults/stores.ts';
import { expectInvariants } from '../support/refunds/invariants.ts';
import { newPayment } from '../support/refunds/payments.ts';
import { releaseTest, testedBackends } from '../support/release.ts';
import { type ApiAnswer, startService, type TestService } from '../support/service.ts';
import { waitFor } from '../support/wait-for.ts';

const createWaitMs = 1_000;

/** The longest wait for an answer while the database hangs. */
const frozenAnswerMs = 15_000;

const async = { prefer: 'respond-async' };

describe.each(testedBackends)('an outage of PostgreSQL, queues on $name', (backend) => {
  let postgres: OwnPostgres;
  let service: TestService;
  let worker: QueueWorker;

  beforeAll(async () => {
    postgres = await OwnPostgres.open();
    const settings = { CREATE_WAIT_MS: createWaitMs };
    service = await startService({ databaseUrl: postgres.url, backend, workers: 0, settings });
    worker = service.startWorker();
  });
  beforeEach(() => service.sandbox.settings({ autoSettleMs: 100, latencyMs: 0 }));
  afterEach(() => expectInvariants(service));
  afterAll(async () => {
    await service.close();
    await postgres.remove();
  });

  test('is answered with 503 at once, and everything works when the database is back', async () => {
    await service.sandbox.settings({ latencyMs: 300 });
    const transactionId = await newPayment(service, { processor: 'stripe' });
    const open = await create(service, transactionId, async);
    await postgres.stop();
    await expectNotReady();
    await expectUnavailable(transactionId, open.body.data.id, 5_000);
    await postgres.start();
    await expectEverythingWorks();
    expect(await service.deps.db.refund.count({ where: { transactionId } })).toBe(1);
    await expectKeyToBeFree(transactionId);
  });

  releaseTest('that begins while a client waits does not keep the answer from it', async () => {
    await service.sandbox.settings({ latencyMs: 500 });
    const transactionId = await newPayment(service, { processor: 'stripe' });
    const waiting = create(service, transactionId, keyOf(transactionId));
    await waitFor('the refund to be sent', () =>
      service.deps.db.refund.findFirst({ where: { transactionId, work: { attemptNumber: { gt: 0 } } } }),
    );
    postgres.freeze();
    const { status, ms } = await waiting;
    postgres.thaw();
    expect(status).toBe(200);
    // Reading the payment, the wait, and a margin.
    expect(ms).toBeLessThan(500 + createWaitMs + 2_000 + 1_500);
    await allComplete(service);
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
      const slowest = Math.max(...answers.map(({ ms }) => ms));
      console.log(`PostgreSQL frozen (${backend.name}): the slowest of ${answers.length} took ${slowest} ms`);
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
      const headers = index % 3 === 0 ? { ...async, 'idempotency-key': `freeze-${transactionId}` } : async;
      return { transactionId, ...(await create(service, transactionId, headers)) };
    });
    await sleep(60);
    return creating;
  }

  async function expectTruth(answer: ApiAnswer & { transactionId: string; ms: number }): Promise<void> {
    const { transactionId, status, body, ms } = answer;
    const created = await service.deps.db.refund.count({ where: { transactionId } });
    if (status === 200) expect(created).toBe(1);
    else if (status === 503) expect(created).toBe(0);
    else
      expect(body.error).toMatchObject({
        code: 'internal_error',
        message: expect.stringMatching(/It is unknown whether/),
      });
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
      const message = expect.any(String);
      expect({ status, body }).toEqual({
        status: 503,
        body: { error: { code: 'service_unavailable', message } },
      });
      expect(Number(headers['retry-after'])).toBeGreaterThan(0);
      expect(ms).toBeLessThan(withinMs);
    }
  }

  function keyOf(transactionId: string) {
    return { 'idempotency-key': `outage-${transactionId}` };
  }

  async function expectKeyToBeFree(transactionId: string): Promise<void> {
    const { status, headers } = await create(service, transactionId, keyOf(transactionId));
    expect({ status, replayed: headers['idempotent-replayed'] }).toEqual({
      status: 200,
      replayed: undefined,
    });
    await allComplete(service);
  }

  async function expectNotReady(): Promise<void> {
    const [alive, ready] = await Promise.all([
      timed(service.call('GET', '/healthz')),
      timed(service.call('GET', '/readyz')),
    ]);
    expect(alive.status).toBe(200);
    expect(ready).toMatchObject({ status: 503, body: { status: 'unavailable', database: 'down' } });
    expect(ready.ms).toBeLessThan(3_000);
  }

  async function expectEverythingWorks(): Promise<void> {
    const since = performance.now();
    await waitFor(
      'the API to be ready',
      async () => (await service.call('GET', '/readyz')).body.status === 'ok',
      { intervalMs: 100 },
    );
    const readyMs = Math.round(performance.now() - since);
    for (const processor of PROCESSORS) {
      expect((await create(service, await newPayment(service, { processor }))).status).toBe(200);
    }
    await allComplete(service);
    const completeMs = Math.round(performance.now() - since);
    console.log(
      `PostgreSQL back (${backend.name}): ready after ${readyMs} ms, complete after ${completeMs} ms`,
    );
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
      const since = performance.now();
      await allComplete(service);
      const ms = Math.round(performance.now() - since);
      console.log(`PostgreSQL started late (${backend.name}): complete after ${ms} ms`);
      await late.close();
      await closeDependencies(deps);
    },
  );
});
