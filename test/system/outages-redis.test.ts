import { randomUUID } from 'node:crypto';
import { afterEach, beforeEach, describe, expect, inject, test } from 'vitest';
import { PROCESSORS } from '../sandbox/ledger/ledger.ts';
import { allComplete, create, timed } from '../support/faults/refunds.ts';
import { OwnRedis } from '../support/faults/stores.ts';
import { templateDatabase } from '../support/processes/run-servers.ts';
import { expectInvariants } from '../support/refunds/invariants.ts';
import { newPayment } from '../support/refunds/payments.ts';
import { isRelease, releaseTest } from '../support/release.ts';
import { startService, type TestService } from '../support/service.ts';
import { createDatabase } from '../support/stores/database-client.ts';
import { waitFor } from '../support/wait-for.ts';

const createWaitMs = 500;

/** How long an answer may take beyond its wait. */
const toleranceMs = 10_000;

describe.skipIf(inject('redisUrl') === null)('an outage of Redis', () => {
  let databaseUrl: string;
  let redis: OwnRedis;
  let service: TestService;

  async function start(settings: object = {}): Promise<void> {
    service = await startService({
      databaseUrl,
      backend: { name: 'redis', redisUrl: redis.url },
      settings: { CREATE_WAIT_MS: createWaitMs, RATE_LIMIT_PER_SECOND: 100, ...settings },
    });
    await service.sandbox.settings({ autoSettleMs: 100 });
  }

  beforeEach(async () => {
    const name = `test_${randomUUID()}`;
    databaseUrl = await createDatabase(inject('postgresUrl'), name, { template: templateDatabase });
    redis = await OwnRedis.prepare();
  });
  afterEach(async () => {
    await expectInvariants(service);
    await service.close();
    await redis.stop();
  });

  async function expectAcceptedInTime(): Promise<void> {
    for (const processor of PROCESSORS) {
      const { status, body, ms } = await create(service, await newPayment(service, { processor }));
      expect({ status, refund: body.data?.status }).toEqual({ status: 200, refund: 'processing' });
      expect(ms).toBeLessThan(createWaitMs + toleranceMs);
    }
  }

  test('refuses no refund, and accepted ones complete once Redis is back', async () => {
    await redis.start();
    await start();
    await create(service, await newPayment(service, { processor: 'stripe' }));
    await redis.kill();
    await expectAcceptedInTime();
    const ready = await service.call('GET', '/readyz');
    expect(ready).toMatchObject({ status: 200, body: { status: 'degraded', database: 'up', queue: 'down' } });
    await redis.start();
    const since = performance.now();
    expect(await allComplete(service)).toBe(3);
    console.log(`Redis back, all complete after ${Math.round(performance.now() - since)} ms`);
  });

  releaseTest(
    'in which Redis hangs refuses no refund, and accepted ones complete once it continues',
    async () => {
      await redis.start();
      await start();
      await create(service, await newPayment(service, { processor: 'stripe' }));
      redis.freeze();
      await expectAcceptedInTime();
      const list = await timed(service.call('GET', '/v1/refunds'));
      expect({ status: list.status, soon: list.ms < toleranceMs }).toEqual({ status: 200, soon: true });
      redis.thaw();
      const since = performance.now();
      expect(await allComplete(service)).toBe(3);
      console.log(`Redis thawed, all complete after ${Math.round(performance.now() - since)} ms`);
    },
  );

  releaseTest('in which Redis loses its data loses and doubles no refund', async () => {
    await redis.start();
    await start({ WORKER_CONCURRENCY: 1 });
    await service.sandbox.settings({ latencyMs: 150 });
    const ids: string[] = [];
    for (let index = 0; index < 10; index += 1) {
      const transactionId = await newPayment(service, {
        processor: index % 2 === 0 ? 'stripe' : 'braintree',
      });
      const { body } = await create(service, transactionId, { prefer: 'respond-async' });
      ids.push(body.data.id);
    }
    const open = () => service.deps.db.refund.count({ where: { id: { in: ids }, externalRefundId: null } });
    await waitFor('some refunds to be sent', async () => (await open()) < 8);
    await redis.flush();
    expect(await open()).toBeGreaterThan(0);
    const since = performance.now();
    await allComplete(service);
    console.log(`Redis emptied, all complete after ${Math.round(performance.now() - since)} ms`);
  });

  test.each(isRelease ? ['gone', 'frozen'] : [])(
    'in which Redis is %s does not keep API and worker from starting, and they work once it is there',
    async (how) => {
      if (how === 'frozen') await redis.start();
      if (how === 'frozen') redis.freeze();
      await start();
      await expectAcceptedInTime();
      if (how === 'frozen') redis.thaw();
      else await redis.start();
      const since = performance.now();
      expect(await allComplete(service)).toBe(2);
      console.log(`Redis no longer ${how}, all complete after ${Math.round(performance.now() - since)} ms`);
      const { body } = await create(service, await newPayment(service, { processor: 'stripe' }));
      expect(body.data.externalRefundId).not.toBeNull();
    },
  );
});
