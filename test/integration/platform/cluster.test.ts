import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest';
import { PROCESSORS } from '../../sandbox/processors.ts';
import { expectInvariants } from '../../support/refunds/invariants.ts';
import { newRefund } from '../../support/refunds/new-refund.ts';
import { allComplete } from '../../support/refunds/refund-records.ts';
import { startService, type TestService, untilChange } from '../../support/service.ts';
import { useDatabase } from '../../support/stores/database.ts';
import { type RunningRedisCluster, startRedisCluster } from '../../support/stores/redis.ts';
import { waitFor } from '../../support/wait-for.ts';

describe.skipIf(inject('redisUrl') === null)('on a Redis Cluster of three nodes', () => {
  const databaseUrl = useDatabase();
  const limit = 3;
  let cluster: RunningRedisCluster;
  let service: TestService;

  beforeAll(async () => {
    cluster = await startRedisCluster();
    const redisUrl = cluster.nodes.map(({ url }) => url).join(',');
    service = await startService({
      databaseUrl: databaseUrl(),
      backend: { name: 'redis', redisUrl },
      settings: { RATE_LIMIT_PER_SECOND: limit },
    });
    await service.sandbox.settings({ autoSettleMs: 100 });
  });
  afterAll(async () => {
    await service.close();
    await cluster.stop();
  });

  test.each(PROCESSORS)('completes a refund at %s', async (processor) => {
    const refund = await newRefund(service, { processor }, { headers: untilChange });
    expect(refund.externalRefundId).not.toBeNull();
    await allComplete(service);
    await expectInvariants(service);
    // A worker tells only every few seconds that it lives.
    await waitFor('readiness', async () => {
      const { body } = await service.call('GET', '/readyz');
      return body.status === 'ok' && body.queue === 'up';
    });
  });

  test('the rate of a key is limited', async () => {
    const startedAt = performance.now();
    const answers = await Promise.all(
      Array.from({ length: 30 * limit }, () => service.call('GET', '/v1/refunds')),
    );
    // The second in which the first one falls may end at once.
    const seconds = Math.ceil((performance.now() - startedAt) / 1_000) + 1;
    const statuses = answers.map(({ status }) => status);
    expect(new Set(statuses)).toEqual(new Set([200, 429]));
    expect(statuses.filter((status) => status === 200).length).toBeLessThanOrEqual(seconds * limit);
  });
});
