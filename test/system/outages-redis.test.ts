import { randomUUID } from 'node:crypto';
import { afterEach, beforeEach, describe, expect, inject, test } from 'vitest';
import { PROCESSORS } from '../sandbox/processors.ts';
import { allComplete, create } from '../support/faults/refunds.ts';
import { OwnRedis } from '../support/faults/stores.ts';
import { templateDatabase } from '../support/processes/run-servers.ts';
import { expectInvariants } from '../support/refunds/invariants.ts';
import { newPayment } from '../support/refunds/payments.ts';
import { isRelease } from '../support/release.ts';
import { startService, type TestService } from '../support/service.ts';
import { createDatabase } from '../support/stores/database-client.ts';

const createWaitMs = 500;

/** How long an answer may take beyond its wait. */
const toleranceMs = 10_000;

/** What is wrong with Redis, and what brings it back. */
const outages = {
  gone: {
    begin: async (redis: OwnRedis) => await redis.kill(),
    end: async (redis: OwnRedis) => await redis.start(),
  },
  frozen: {
    begin: async (redis: OwnRedis) => redis.freeze(),
    end: async (redis: OwnRedis) => redis.thaw(),
  },
};

const tested = (['gone', 'frozen'] as const).slice(0, isRelease ? 2 : 1);

describe.skipIf(inject('redisUrl') === null).each(tested)('while Redis is %s', (how) => {
  const { begin, end } = outages[how];
  let databaseUrl: string;
  let redis: OwnRedis;
  let service: TestService;

  beforeEach(async () => {
    const name = `test_${randomUUID()}`;
    databaseUrl = await createDatabase(inject('postgresUrl'), name, { template: templateDatabase });
    redis = await OwnRedis.prepare();
    await redis.start();
  });
  afterEach(async () => {
    await expectInvariants(service);
    await service.close();
    await redis.stop();
  });

  async function start(): Promise<void> {
    service = await startService({
      databaseUrl,
      backend: { name: 'redis', redisUrl: redis.url },
      settings: { CREATE_WAIT_MS: createWaitMs, RATE_LIMIT_PER_SECOND: 100 },
    });
    await service.sandbox.settings({ autoSettleMs: 100 });
  }

  async function expectAcceptedInTime(): Promise<void> {
    for (const processor of PROCESSORS) {
      const { status, body, ms } = await create(service, await newPayment(service, { processor }));
      expect({ status, refund: body.data?.status }).toEqual({ status: 200, refund: 'processing' });
      expect(ms).toBeLessThan(createWaitMs + toleranceMs);
    }
  }

  test('every refund is accepted, and completes once Redis is back', async () => {
    await start();
    await create(service, await newPayment(service, { processor: 'stripe' }));
    await begin(redis);
    await expectAcceptedInTime();
    const ready = await service.call('GET', '/readyz');
    expect(ready).toMatchObject({ status: 200, body: { status: 'degraded', database: 'up', queue: 'down' } });
    await end(redis);
    expect(await allComplete(service)).toBe(3);
  });

  test('API and worker start, and work once Redis is back', async () => {
    await begin(redis);
    await start();
    await expectAcceptedInTime();
    await end(redis);
    expect(await allComplete(service)).toBe(2);
    const payment = await newPayment(service, { processor: 'stripe' });
    const { body } = await create(service, payment, { prefer: 'wait=10' });
    expect(body.data.externalRefundId).not.toBeNull();
  });
});
