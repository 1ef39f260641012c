import { expect, test } from 'vitest';
import { publishRoots } from '#shared/timeline/publish-roots.ts';
import { useDeliveryStage } from '../../support/webhooks/delivery-stage.ts';
import { recordRefunds } from '../../support/webhooks/endpoints.ts';
import { useRegisteredReceivers } from '../../support/webhooks/registered-receivers.ts';

const stage = useDeliveryStage();
const { service, time } = stage;
const register = useRegisteredReceivers(service);
const publish = () => publishRoots(service.deps, new AbortController().signal);
const hourMs = 60 * 60 * 1000;
const dayMs = 24 * hourMs;

/** Advances the time to this long after the next midnight. */
const advancePastMidnight = (ms: number) =>
  time.advance(service.ownerDb, dayMs - (time.now().getTime() % dayMs) + ms);

test('publishes the root of a day once, an hour after its end, to the endpoints that chose it', async () => {
  const { receiver } = await register();
  const other = await register();
  await service.deps.db.webhookEndpoint.update({
    where: { id: other.endpoint.id },
    data: { events: ['refund.failed'] },
  });
  const day = time.now().toISOString().slice(0, 10);
  await recordRefunds(service, 2);
  await advancePastMidnight(hourMs - 1);
  await publish();
  expect(await service.deps.db.timelineRoot.count()).toBe(0);
  await time.advance(service.ownerDb, 1);
  await Promise.all([publish(), publish()]);
  await stage.sweep();
  await stage.work();

  const root = await service.deps.db.timelineRoot.findFirstOrThrow();
  const [webhook] = receiver.received;
  if (webhook === undefined) throw new Error('Nothing was received.');
  expect(receiver.received.length).toBe(1);
  expect(webhook.event).toEqual({
    ...{ id: root.id, type: 'timeline.root', createdAt: time.now().toISOString() },
    ...{ refundId: null, seq: null, previousStatus: null, failure: null },
    data: {
      ...{ organizationId: service.organization.id, environment: 'test', day },
      eventCount: await service.deps.db.refundEvent.count(),
      root: Buffer.from(root.root).toString('hex'),
    },
  });
  expect(other.receiver.received).toEqual([]);
});

test('leaves out days without events, and catches up on those that no worker published', async () => {
  const { db } = service.deps;
  const before = await db.timelineRoot.count();
  await advancePastMidnight(3 * dayMs);
  for (let day = 0; day < 2; day += 1) {
    await recordRefunds(service, 1);
    await time.advance(service.ownerDb, 2 * dayMs);
  }
  await publish();
  expect(await db.timelineRoot.count()).toBe(before + 2);
});
