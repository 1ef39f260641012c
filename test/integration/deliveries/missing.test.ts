import { expect, test } from 'vitest';
import { createDeliveriesBetween } from '#worker/deliver/claim-deliveries.ts';
import { query } from '../../support/stores/database-client.ts';
import { waitFor } from '../../support/wait-for.ts';
import { refusalOf } from '../../support/webhooks/api-endpoints.ts';
import { useDeliveryStage } from '../../support/webhooks/delivery-stage.ts';
import { recordCancellation, recordRefunds } from '../../support/webhooks/endpoints.ts';
import { useRegisteredReceivers } from '../../support/webhooks/registered-receivers.ts';

const stage = useDeliveryStage();
const { service } = stage;
const register = useRegisteredReceivers(service);
const minuteMs = 60_000;

const change = async (id: string, body: object) =>
  expect((await service.call('PATCH', `/v1/webhook-endpoints/${id}`, { body })).status).toBe(200);
const replayMissing = async (id: string, since: Date) =>
  await service.call('POST', `/v1/webhook-endpoints/${id}/replay-missing`, {
    body: { since: since.toISOString() },
  });
const countOf = async (id: string, since: Date) => {
  const { status, body } = await replayMissing(id, since);
  expect(status, JSON.stringify(body)).toBe(200);
  return body.data.count;
};

test('what happened while an endpoint was disabled is sent once, in order, and no other event', async () => {
  const { receiver, endpoint } = await register();
  const sent = () => receiver.received.map(({ event }) => event.refundId + event.type);
  const send = async () => {
    await stage.create();
    await stage.sweep();
    await stage.work();
  };
  await change(endpoint.id, { status: 'disabled' });
  await recordRefunds(service, 3);
  await stage.create();
  await stage.advance(minuteMs / 2);
  const since = service.deps.clock.now();
  const ids = await recordRefunds(service, 40);
  for (const id of ids) await recordCancellation(service, id);
  await stage.create();
  await change(endpoint.id, { status: 'enabled' });
  const [sentBefore = ''] = await recordRefunds(service, 1);
  await send();
  // One that nothing is made of yet is left to those that are made of new events.
  const [isNew = ''] = await recordRefunds(service, 1);
  const counts = await Promise.all([countOf(endpoint.id, since), countOf(endpoint.id, since)]);
  expect(counts[0] + counts[1]).toBe(80);
  expect(await countOf(endpoint.id, since)).toBe(0);
  await send();
  const created = [sentBefore, ...ids, isNew].map((id) => `${id}refund.created`);
  const cancelled = ids.map((id) => `${id}refund.cancelled`);
  expect(sent().toSorted()).toEqual([...created, ...cancelled].toSorted());
  for (const id of ids) {
    const ofRefund = sent().filter((each) => each.startsWith(id));
    expect(ofRefund).toEqual([`${id}refund.created`, `${id}refund.cancelled`]);
  }
});

test('has what a worker leaves out that began before the endpoint was enabled', async () => {
  const { endpoint } = await register();
  await change(endpoint.id, { status: 'disabled' });
  await stage.create();
  await stage.advance(10 * minuteMs);
  const since = service.deps.clock.now();
  await recordRefunds(service, 3);
  let counting = Promise.resolve(0);
  await service.deps.db.$transaction(async (tx) => {
    const [feed] = await tx.$queryRaw<{ reached: bigint; upto: bigint }[]>`
      SELECT position AS reached, settled_event_position() AS upto FROM webhook_cursor`;
    await createDeliveriesBetween(tx as typeof service.deps.db, { reached: 0n, upto: 0n, ...feed, most: 0 });
    await change(endpoint.id, { status: 'enabled' });
    let hasEnded = false;
    counting = countOf(endpoint.id, since).finally(() => {
      hasEnded = true;
    });
    await waitFor('the replay to wait for the worker', async () => {
      const waiting = await query(
        service.databaseUrl,
        `SELECT FROM pg_locks WHERE NOT granted AND locktype IN ('tuple', 'transactionid')`,
      );
      return hasEnded || waiting.length > 0;
    });
  });
  expect(await counting).toBe(3);
});

test('leaves out what the filter does, and what is of another organization or environment', async () => {
  const { endpoint } = await register();
  await stage.advance(10 * minuteMs);
  const since = service.deps.clock.now();
  await change(endpoint.id, { status: 'disabled', events: ['refund.cancelled'] });
  const other = await service.addOrganization('Other');
  await recordRefunds(service, 2, { organizationId: other.id, environment: 'test' });
  await recordRefunds(service, 2, { organizationId: service.organization.id, environment: 'live' });
  const [id = ''] = await recordRefunds(service, 2);
  await recordCancellation(service, id);
  await stage.create();
  await change(endpoint.id, { status: 'enabled' });
  expect(await countOf(endpoint.id, since)).toBe(1);
  const made = await service.deps.db.webhookDelivery.findMany({ where: { endpointId: endpoint.id } });
  expect(made).toMatchObject([{ refundId: id, type: 'refund.cancelled', status: 'pending' }]);
});

test('makes 10,000 deliveries, the oldest events first, and the rest with the next request', async () => {
  const { endpoint } = await register();
  await change(endpoint.id, { status: 'disabled' });
  await stage.advance(10 * minuteMs);
  const since = service.deps.clock.now();
  const [id = ''] = await recordRefunds(service, 1);
  await query(
    service.databaseUrl,
    `INSERT INTO refund_event (id, refund_id, seq, type, actor, status, detail, created_at, organization_id, environment, position)
     SELECT id || n, refund_id, n, type, actor, status, detail, created_at, organization_id, environment, nextval('refund_event_position')
     FROM refund_event, generate_series(2, 10200) AS n WHERE refund_id = '${id}'`,
  );
  await stage.create();
  await change(endpoint.id, { status: 'enabled' });
  expect(await countOf(endpoint.id, since)).toBe(10_000);
  // The order in which they start.
  const [{ behind }] = await query(
    service.databaseUrl,
    `SELECT count(*)::int AS behind FROM (
       SELECT position, lag(position) OVER (ORDER BY next_attempt_at, position) AS before FROM webhook_delivery
       WHERE endpoint_id = '${endpoint.id}') AS due WHERE position < before`,
  );
  expect(behind).toBe(0);
  for (const count of [200, 0]) expect(await countOf(endpoint.id, since)).toBe(count);
});

test('refuses a time of which deliveries may be deleted already', async () => {
  const { endpoint } = await register();
  const kept = service.settings.WEBHOOK_RETENTION_DAYS * 24 * 60 * minuteMs;
  const at = (agoMs: number) => new Date(service.deps.clock.now().getTime() - agoMs);
  expect(refusalOf(await replayMissing(endpoint.id, at(kept + 1)))).toEqual([
    400,
    'validation_error',
    expect.stringContaining('since: must be within the last 30 days'),
  ]);
  expect((await replayMissing(endpoint.id, at(kept))).status).toBe(200);
});
