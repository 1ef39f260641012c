import { expect, test } from 'vitest';
import { publishRoots } from '#shared/timeline/publish-roots.ts';
import { type TimelineProblem, verifyTimelines } from '#shared/timeline/verify.ts';
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

/** A root that the role of the service writes by itself, of the owner of the refunds. */
const writeRoot = (id: string, day: string, createdAt: string) =>
  service.deps.db.timelineRoot.create({
    data: {
      ...{ id, organizationId: service.organization.id, environment: 'live', eventCount: 1 },
      ...{ day: new Date(day), createdAt: new Date(createdAt), root: Buffer.from('nothing') },
    },
  });

test('a root that does not belong there holds up the roots of no other organization, and is reported', async () => {
  const { db } = service.deps;
  const before = await db.timelineRoot.count();
  await recordRefunds(service, 1);
  const day = time.now().toISOString().slice(0, 10);
  await advancePastMidnight(2 * hourMs);
  await writeRoot('evt_of_that_day', day, time.now().toISOString());
  await writeRoot('evt_of_2099', '2099-01-01', '2099-01-02');
  await publish();
  expect(await db.timelineRoot.count()).toBe(before + 3);
  const found: TimelineProblem[] = [];
  await verifyTimelines(db, { organizationId: null, since: null }, (problem) => found.push(problem));
  const problem = 'all 1 events of the published root are missing';
  expect(found).toMatchObject([
    { day: '2099-01-01', problem },
    { day, problem },
  ]);
});

test('the database takes no root of a day that is not over', async () => {
  await expect(writeRoot('evt_early', '2099-01-01', '2098-12-31')).rejects.toThrow(
    /timeline_root_of_past_day/,
  );
});

test('a metric says up to when all events are covered by roots', async () => {
  await recordRefunds(service, 1);
  const provenUntil = async () => (await service.deps.metrics.provenUntil.get()).values[0]?.value;
  await publish();
  const midnight = Math.floor(time.now().getTime() / dayMs) * dayMs;
  expect(await provenUntil()).toBe(midnight / 1_000);
  await advancePastMidnight(2 * hourMs);
  const publishNothing = AbortSignal.abort();
  await publishRoots(service.deps, publishNothing);
  expect(await provenUntil()).toBe(midnight / 1_000);
  await publish();
  expect(await provenUntil()).toBe(midnight / 1_000 + dayMs / 1_000);
});
