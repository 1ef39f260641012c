import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { closeDependencies, openDependencies } from '../../shared/dependencies.ts';
import { openLog } from '../../shared/log.ts';
import { startWorkers } from '../../worker/start-workers.ts';
import { queueBackends } from '../harness/backends.ts';
import { expectInvariants } from '../harness/invariants.ts';
import { startService, type TestService } from '../harness/service.ts';
import { waitFor } from '../harness/wait-for.ts';
import { allComplete, create, OwnPostgres, payment, timed } from './outages-bench.ts';

/** The longest that a client waits for an answer while the database is frozen. */
const frozenAnswerMs = 15_000;

describe.each(queueBackends)('without PostgreSQL, queues on $name', (backend) => {
  let postgres: OwnPostgres;
  let service: TestService;

  beforeAll(async () => {
    postgres = await OwnPostgres.start();
    service = await startService({
      databaseUrl: postgres.url,
      backend,
      settings: { CREATE_WAIT_MS: 1_000 },
      workers: Number(process.env.W ?? 1),
    });
  });
  beforeEach(() => service.sandbox.settings({ autoSettleMs: 100, latencyMs: 0 }));
  afterEach(() => expectInvariants(service));
  afterAll(async () => {
    await service.close();
    await postgres.remove();
  });

  async function expectUnavailable(transactionId: string, refundId: string, withinMs: number): Promise<void> {
    const answers = await Promise.all([
      create(service, transactionId),
      create(service, transactionId, { 'idempotency-key': `outage-${transactionId}` }),
      timed(service.call('GET', `/v1/refunds/${refundId}`)),
      timed(service.call('GET', '/v1/refunds')),
      timed(service.call('POST', `/v1/refunds/${refundId}/cancel`)),
      timed(service.call('POST', '/v1/policies/check', { body: { transactionId } })),
    ]);
    for (const { status, body, headers, ms } of answers) {
      expect({ status, code: body.error.code }).toEqual({ status: 503, code: 'service_unavailable' });
      expect(Object.keys(body)).toEqual(['error']);
      expect(Object.keys(body.error).toSorted()).toEqual(['code', 'message']);
      expect(Number(headers['retry-after'])).toBeGreaterThan(0);
      expect(ms).toBeLessThan(withinMs);
    }
    console.log(`503 after ${answers.map(({ ms }) => ms).join(', ')} ms`);
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

  async function expectEverythingWorks(openRefunds: number): Promise<void> {
    const since = performance.now();
    await waitFor(
      'the API to be ready',
      async () => (await service.call('GET', '/readyz')).body.status === 'ok',
      { timeoutMs: 20_000, intervalMs: 100 },
    );
    console.log(`ready again after ${Math.round(performance.now() - since)} ms`);
    expect(await service.deps.db.refund.count({ where: { status: 'processing' } })).toBeLessThanOrEqual(
      openRefunds,
    );
    for (const processor of ['stripe', 'braintree']) {
      expect((await create(service, await payment(service, processor))).status).toBe(200);
    }
    await allComplete(service, 40_000);
    console.log(`all complete after ${Math.round(performance.now() - since)} ms`);
  }

  test.each(['stopped', 'frozen'])(
    'a database that is %s is told in time, and nothing is half done',
    async (how) => {
      await service.sandbox.settings({ latencyMs: 300 });
      const transactionId = await payment(service, 'stripe');
      const open = await create(service, transactionId, { prefer: 'respond-async' });
      expect(open.status).toBe(200);
      if (how === 'stopped') await postgres.stop();
      else postgres.freeze();
      await expectUnavailable(transactionId, open.body.data.id, how === 'stopped' ? 5_000 : frozenAnswerMs);
      await expectNotReady();
      if (how === 'stopped') await postgres.startAgain();
      else postgres.thaw();
      await expectEverythingWorks(1);
      const created = await service.deps.db.refund.count({ where: { transactionId } });
      expect(created).toBe(1);
      const again = await create(service, transactionId, { 'idempotency-key': `outage-${transactionId}` });
      expect(again.status).toBe(200);
      expect(again.headers['idempotent-replayed']).toBeUndefined();
      await allComplete(service, 20_000);
    },
    90_000,
  );

  test('a database that freezes while a client waits for the verdict does not make it wait for longer', async () => {
    await service.sandbox.settings({ latencyMs: 700 });
    const creating = create(service, await payment(service, 'stripe'));
    await waitFor('the refund to be on its way', async () =>
      service.deps.db.refund.findFirst({ where: { attemptCount: 1, status: 'processing' } }),
    );
    postgres.freeze();
    const { status, ms } = await creating;
    postgres.thaw();
    expect({ status, soon: ms < 2_500 + 700 }).toEqual({ status: 200, soon: true });
    await expectEverythingWorks(1);
  }, 90_000);

  test('creations that a freeze catches at any step end in time, and 503 means that nothing was done', async () => {
    const payments = await Promise.all(Array.from({ length: 24 }, () => payment(service, 'stripe')));
    const creating = payments.map(async (transactionId, index) => {
      await sleep(index * 4);
      const headers = index % 3 === 0 ? { 'idempotency-key': `freeze-${transactionId}` } : {};
      return { transactionId, ...(await create(service, transactionId, headers)) };
    });
    await sleep(60);
    postgres.freeze();
    const answers = await Promise.all(creating);
    postgres.thaw();
    console.log(`answers: ${answers.map(({ status, ms }) => `${status} after ${ms}`).join(', ')} ms`);
    await expectEverythingWorks(24);
    for (const { transactionId, status, ms, body } of answers) {
      const refunds = await service.deps.db.refund.count({ where: { transactionId } });
      if (status === 200) expect(refunds).toBe(1);
      else if (status === 503) expect(refunds).toBe(0);
      else expect({ status, body }).toEqual({ status: 500, body });
      expect(ms).toBeLessThan(frozenAnswerMs);
    }
  }, 90_000);

  test('API and worker start while the database is gone, and work once it is there', async () => {
    const { body } = await create(service, await payment(service, 'stripe'), { prefer: 'respond-async' });
    await postgres.stop();
    const deps = openDependencies(service.settings, openLog('silent', 'late'));
    deps.queues.wake({ id: body.data.id, processor: 'stripe' });
    const worker = startWorkers(deps);
    await sleep(3_000);
    await postgres.startAgain();
    const since = performance.now();
    await waitFor(
      'the refund to complete by the late worker',
      async () =>
        (await deps.db.refund.findUniqueOrThrow({ where: { id: body.data.id } })).status === 'completed',
      { timeoutMs: 30_000 },
    );
    console.log(`late worker done after ${Math.round(performance.now() - since)} ms`);
    await worker.close();
    await closeDependencies(deps);
  }, 90_000);
});
