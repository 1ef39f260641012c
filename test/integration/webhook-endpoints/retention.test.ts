import { beforeEach, expect, test } from 'vitest';
import { newId } from '#shared/platform/ids.ts';
import { expireWebhooks } from '#worker/schedule/retention.ts';
import { useService } from '../../support/use-service.ts';
import { newEndpoint, storeDelivery } from '../../support/webhooks/api-endpoints.ts';

const service = useService({ workers: 0, settings: { WEBHOOK_RETENTION_DAYS: 10 } });
const daysAgo = (days: number) => new Date(Date.now() - days * 86_400_000);
beforeEach(async () => {
  await service.deps.db.webhookDelivery.deleteMany();
});

const keptIds = async () => {
  const kept = await service.deps.db.webhookDelivery.findMany({ orderBy: { createdAt: 'asc' } });
  return kept.map(({ id }) => id);
};

test('deletes deliveries that ended after the days of the setting and no sooner', async () => {
  const { id } = await newEndpoint(service);
  await storeDelivery(service, id, { createdAt: daysAgo(10.1) });
  const due = { status: 'pending', nextAttemptAt: daysAgo(-1), createdAt: daysAgo(11) } as const;
  const kept = [
    await storeDelivery(service, id, due),
    await storeDelivery(service, id, { status: 'succeeded', createdAt: daysAgo(9.9) }),
  ];
  await expireWebhooks(service.deps);
  expect(await keptIds()).toEqual(kept.map((each) => each.id));
  expect(await service.deps.db.webhookEndpoint.count({ where: { id } })).toBe(1);
});

test('deletes a deleted endpoint with all its deliveries, however many there are', async () => {
  const [gone, other] = [await newEndpoint(service), await newEndpoint(service)];
  const row = {
    endpointId: gone.id,
    type: 'refund.failed',
    status: 'failed',
    createdAt: new Date(),
  } as const;
  await service.deps.db.webhookDelivery.createMany({
    data: Array.from({ length: 2_300 }, () => ({ ...row, id: newId('del'), eventId: newId('evt') })),
  });
  const { id: keptId } = await storeDelivery(service, other.id);
  await expireWebhooks(service.deps);
  expect(await keptIds()).toHaveLength(2_301);
  expect((await service.call('DELETE', `/v1/webhook-endpoints/${gone.id}`)).status).toBe(200);
  await expireWebhooks(service.deps);
  expect(await keptIds()).toEqual([keptId]);
  const left = await service.deps.db.webhookEndpoint.findMany({ select: { id: true } });
  expect(left.map(({ id }) => id)).not.toContain(gone.id);
  expect(left.map(({ id }) => id)).toContain(other.id);
});
