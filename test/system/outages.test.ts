import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, afterEach, beforeAll, describe, expect, inject, onTestFinished, test } from 'vitest';
import { PROCESSORS } from '../sandbox/processors.ts';
import { OwnPostgres, OwnRedis } from '../support/faults/stores.ts';
import { templateDatabase } from '../support/processes/run-servers.ts';
import { webhookAbout } from '../support/processors/signed-webhooks.ts';
import { openWebhooks, reportOf, type Webhooks } from '../support/processors/webhooks.ts';
import { expectInvariants } from '../support/refunds/invariants.ts';
import { newPayment } from '../support/refunds/payments.ts';
import { allComplete, rowOf, untilCompleted } from '../support/refunds/refund-records.ts';
import { isRelease, releaseTest, testedBackends } from '../support/release.ts';
import { startService, type TestService } from '../support/service.ts';
import { createDatabase, withClient } from '../support/stores/database-client.ts';
import { portOfQueues, startRedisCluster } from '../support/stores/redis.ts';
import { waitFor } from '../support/wait-for.ts';

/** Longer than a statement takes while the database answers, and short enough to be waited for while it hangs. */
const shorterLimits = { DATABASE_CONNECT_TIMEOUT_MS: 10_000, DATABASE_STATEMENT_TIMEOUT_MS: 30_000 };

/** Refunds a tenth of a payment. */
async function create(service: TestService, transactionId: string, headers: Record<string, string> = {}) {
  const processor = transactionId.startsWith('ch_') ? 'stripe' : 'braintree';
  const body = { transactionId, amount: 1_000, reason: 'other', processor };
  return await service.call('POST', '/v1/refunds', { body, headers });
}

describe.each(testedBackends)('an outage of PostgreSQL, queues on $name', (backend) => {
  let postgres: OwnPostgres;
  let service: TestService;
  let webhooks: Webhooks;

  beforeAll(async () => {
    postgres = await OwnPostgres.open();
    const settings = { CREATE_WAIT_MS: 1_000, ...shorterLimits };
    service = await startService({ databaseUrl: postgres.url, backend, settings });
    await service.sandbox.settings({ autoSettleMs: 100, latencyMs: 0 });
    webhooks = await openWebhooks(service);
  });
  afterEach(() => expectInvariants(service));
  afterAll(async () => {
    await service.close();
    await postgres.remove();
  });

  const newStripePayment = () => newPayment(service, { processor: 'stripe' });
  const keyOf = (transactionId: string) => ({ 'idempotency-key': `outage-${transactionId}` });

  async function expectUnavailable(transactionId: string, refundId: string): Promise<void> {
    const answers = await Promise.all([
      create(service, transactionId),
      create(service, transactionId, keyOf(transactionId)),
      service.call('GET', `/v1/refunds/${refundId}`),
      service.call('GET', '/v1/refunds'),
      service.call('POST', `/v1/refunds/${refundId}/cancel`),
      service.call('POST', '/v1/policies/check', { body: { transactionId } }),
    ]);
    for (const { status, body, headers } of answers) {
      expect([status, body.error.code]).toEqual([503, 'service_unavailable']);
      expect(Number(headers['retry-after'])).toBeGreaterThan(0);
    }
    expect((await service.call('GET', '/healthz')).status).toBe(200);
    const ready = await waitFor('readiness to end', async () => {
      const answer = await service.call('GET', '/readyz');
      return answer.status === 503 && answer;
    });
    expect(ready.body).toMatchObject({ status: 'unavailable', database: 'down' });
  }

  /** Expects the refused request to succeed with the same key, and everything to complete. */
  async function expectToWork(refused: string): Promise<void> {
    const again = await waitFor('the refused request to succeed', async () => {
      const answer = await create(service, refused, keyOf(refused));
      return answer.status === 200 && answer;
    });
    expect(again.headers['idempotent-replayed']).toBeUndefined();
    for (const processor of PROCESSORS) {
      expect((await create(service, await newPayment(service, { processor }))).status).toBe(200);
    }
    await allComplete(service);
  }

  test('is answered with 503 at once, and everything works when the database is back', async () => {
    const known = await create(service, await newStripePayment());
    const refund = await rowOf(service, known.body.data.id);
    const webhook = webhookAbout('stripe', { ...reportOf(refund), processorStatus: 'failed' });
    const address = await webhooks.addressOf('stripe');
    const transactionId = await newStripePayment();
    await postgres.stop();
    await expectUnavailable(transactionId, refund.id);
    expect(await webhooks.send('stripe', webhook, address)).toMatchObject({ status: 503 });
    await postgres.start();
    await expectToWork(transactionId);
  });

  releaseTest(
    'in which the database hangs keeps no client waiting for ever, and 503 means that nothing was done',
    async () => {
      const known = await create(service, await newStripePayment());
      const transactionId = await newStripePayment();
      const payments = await Promise.all(Array.from({ length: 24 }, newStripePayment));
      // One after the other, so that the outage meets them at different steps.
      const caught = payments.map(async (payment, index) => {
        await sleep(index * 4);
        return { payment, ...(await create(service, payment, { prefer: 'respond-async' })) };
      });
      await sleep(60);
      postgres.freeze();
      await expectUnavailable(transactionId, known.body.data.id);
      const answers = await Promise.all(caught);
      postgres.thaw();
      await expectToWork(transactionId);
      for (const { payment, status, body } of answers) {
        const created = await service.deps.db.refund.count({ where: { transactionId: payment } });
        if (status === 200) expect(created).toBe(1);
        else if (status === 503) expect(created).toBe(0);
        else expect(body.error.message).toMatch(/It is unknown whether/);
      }
    },
  );

  const full = `CREATE FUNCTION fill() RETURNS trigger LANGUAGE plpgsql AS
      $$ BEGIN RAISE 'could not extend file: No space left on device' USING ERRCODE = 'disk_full'; END $$;
    CREATE TRIGGER fill BEFORE INSERT ON refund_event FOR EACH ROW EXECUTE FUNCTION fill()`;
  const readOnly = (value: string) => [
    `ALTER SYSTEM SET default_transaction_read_only = ${value}`,
    'SELECT pg_reload_conf()',
  ];

  test.each([
    ['a full disk', [full], ['DROP FUNCTION fill CASCADE']],
    // As after a failover, and as providers make it before its disk is full.
    ['a server that only reads', readOnly('on'), readOnly('off')],
  ])('by %s refuses creations with 503 and leaves nothing half done', async (_how, begin, end) => {
    const transactionId = await newStripePayment();
    await withClient(postgres.url, async (client) => {
      for (const statement of begin) await client.query(statement);
      const { status, body, headers } = await create(service, transactionId, keyOf(transactionId));
      const message = expect.stringContaining('Nothing was changed');
      expect([status, body]).toEqual([503, { error: { code: 'service_unavailable', message } }]);
      expect(Number(headers['retry-after'])).toBeGreaterThan(0);
      const reads = async () => (await service.call('GET', '/v1/refunds')).status === 200;
      await waitFor('reads to continue', reads);
      expect(await service.deps.db.refund.count({ where: { transactionId } })).toBe(0);
      for (const statement of end) await client.query(statement);
    });
    await expectToWork(transactionId);
  });
});

/** How Redis fails, and how it recovers. */
const redisOutages = [
  { how: 'gone', begin: (redis: OwnRedis) => redis.kill(), end: (redis: OwnRedis) => redis.start() },
  {
    how: 'frozen',
    begin: async (redis: OwnRedis) => redis.freeze(),
    end: async (redis: OwnRedis) => redis.thaw(),
  },
].slice(0, isRelease ? 2 : 1);

describe.skipIf(inject('redisUrl') === null)('an outage of Redis', () => {
  test.each(redisOutages)(
    'lets API and worker start, accept every refund and stop while Redis is $how, and all complete once it is back',
    async ({ begin, end }) => {
      const template = templateDatabase;
      const databaseUrl = await createDatabase(inject('postgresUrl'), `test_${randomUUID()}`, { template });
      const redis = await OwnRedis.prepare();
      await redis.start();
      onTestFinished(() => redis.stop());
      await begin(redis);
      const backend = { name: 'redis' as const, redisUrl: redis.url };
      const settings = { CREATE_WAIT_MS: 500 };
      const service = await startService({ databaseUrl, backend, settings });
      onTestFinished(() => service.close());
      await service.sandbox.settings({ autoSettleMs: 100 });
      const expectAccepted = async () => {
        for (const processor of PROCESSORS) {
          const { status, body } = await create(service, await newPayment(service, { processor }));
          expect([status, body.data?.status]).toEqual([200, 'processing']);
        }
      };
      await expectAccepted();
      await end(redis);
      const worker = service.startWorker();
      expect(await allComplete(service)).toBe(2);
      const payment = await newPayment(service, { processor: 'stripe' });
      const { body } = await create(service, payment);
      await untilCompleted(service, [body.data.id]);
      await begin(redis);
      await expectAccepted();
      const ready = await waitFor('readiness to miss the queue', async () => {
        const answer = await service.call('GET', '/readyz');
        return answer.body.queue === 'down' && answer;
      });
      expect(ready).toMatchObject({ status: 200, body: { status: 'degraded', database: 'up' } });
      await worker.close();
      await end(redis);
      expect(await allComplete(service)).toBe(5);
      await expectInvariants(service);
    },
  );
});

test.skipIf(inject('redisUrl') === null)(
  'no request is refused for its rate while the Redis that counts requests is gone',
  async () => {
    const template = templateDatabase;
    const databaseUrl = await createDatabase(inject('postgresUrl'), `test_${randomUUID()}`, { template });
    const redis = await OwnRedis.prepare();
    await redis.start();
    onTestFinished(() => redis.stop());
    const backend = { name: 'redis' as const, redisUrl: redis.url };
    const settings = { RATE_LIMIT_PER_SECOND: 1 };
    const service = await startService({ databaseUrl, backend, workers: 0, settings });
    onTestFinished(() => service.close());
    const statuses = async () => {
      const answers = Array.from({ length: 10 }, () => service.call('GET', '/v1/refunds'));
      return (await Promise.all(answers)).map(({ status }) => status);
    };
    await waitFor('the rate to be limited', async () => (await statuses()).includes(429));
    await redis.kill();
    expect(new Set(await statuses())).toEqual(new Set([200]));
  },
);

releaseTest(
  'a failover of a Redis Cluster under load costs no refund, and the queue is back once the replica has taken over',
  async () => {
    const template = templateDatabase;
    const databaseUrl = await createDatabase(inject('postgresUrl'), `test_${randomUUID()}`, { template });
    const cluster = await startRedisCluster({ hasReplicas: true });
    onTestFinished(() => cluster.stop());
    const redisUrl = cluster.nodes.map(({ url }) => url).join(',');
    const settings = { CREATE_WAIT_MS: 500 };
    const service = await startService({ databaseUrl, backend: { name: 'redis', redisUrl }, settings });
    onTestFinished(() => service.close());
    await service.sandbox.settings({ autoSettleMs: 100 });
    let isLoaded = true;
    let accepted = 0;
    const clients = Array.from({ length: 4 }, async () => {
      while (isLoaded) {
        const { status } = await create(service, await newPayment(service, { processor: 'stripe' }));
        expect(status).toBe(200);
        accepted += 1;
      }
    });
    const queueIs = (state: string) => async () =>
      (await service.call('GET', '/readyz')).body.queue === state;
    await waitFor('some refunds', () => accepted > 20);
    const port = await portOfQueues(redisUrl, service.settings.QUEUE_PREFIX);
    await cluster.nodes.find((node) => node.port === port)?.stop();
    await waitFor('the queue to be missed', queueIs('down'));
    const missedAtMs = performance.now();
    await waitFor('the replica to take over', queueIs('up'), { timeoutMs: 60_000 });
    const lastedMs = performance.now() - missedAtMs;
    isLoaded = false;
    await Promise.all(clients);
    expect(await allComplete(service)).toBe(accepted);
    await expectInvariants(service);
    console.log(`${accepted} refunds; the queue was back after ${Math.round(lastedMs)} ms`);
  },
);
