import { beforeEach, describe, expect, test, vi } from 'vitest';
import { newId } from '#shared/platform/ids.ts';
import { auditOf } from '../../support/audit-log.ts';
import { query } from '../../support/stores/database-client.ts';
import { useService } from '../../support/use-service.ts';
import { newEndpoint, refusalOf, storeDelivery } from '../../support/webhooks/api-endpoints.ts';

// No worker: deliveries stay as they are.
const service = useService({ workers: 0 });
let id: string;
beforeEach(async () => {
  await service.deps.db.webhookDelivery.deleteMany();
  await service.deps.db.webhookEndpoint.deleteMany();
  ({ id } = await newEndpoint(service, { events: ['refund.failed'] }));
  vi.spyOn(service.deps.queues, 'wakeWorkers').mockReset();
});

const call = async (method: 'GET' | 'POST' | 'PATCH' | 'DELETE', path: string, body?: unknown) =>
  await service.call(method, `/v1/webhook-endpoints/${id}${path}`, { body });
const rowOf = (deliveryId: string) =>
  service.deps.db.webhookDelivery.findUniqueOrThrow({ where: { id: deliveryId } });
const minutesAgo = (minutes: number) => new Date(Date.now() - minutes * 60_000);

describe('the list of deliveries', () => {
  test('is newest first, with every attempt, in pages and by status', async () => {
    const startedAt = minutesAgo(3);
    const outcomes = [
      { durationMs: 12, responseStatus: 500, error: 'unsuccessful_status', responseBody: 'Oops' },
      { durationMs: null, responseStatus: null, error: null, responseBody: null },
    ];
    const [ended = {}] = outcomes;
    const failed = await storeDelivery(service, id, {
      createdAt: minutesAgo(3),
      // The second one is under way, or its worker died.
      attempts: [
        { number: 1, startedAt: startedAt.toISOString(), ...ended },
        { number: 2, startedAt: startedAt.toISOString().replace('Z', '+00:00') },
      ],
    });
    const pending = await storeDelivery(service, id, {
      ...{ status: 'pending', nextAttemptAt: minutesAgo(-5), createdAt: minutesAgo(2) },
    });
    const succeeded = await storeDelivery(service, id, { status: 'succeeded', createdAt: minutesAgo(1) });
    const { id: other } = await newEndpoint(service);
    await storeDelivery(service, other);
    const { data } = (await call('GET', '/deliveries')).body;
    expect(data.map((each: { id: string }) => each.id)).toEqual([succeeded.id, pending.id, failed.id]);
    expect(data[1]).toEqual({
      ...{ id: pending.id, eventId: pending.eventId, type: 'refund.completed', status: 'pending' },
      nextAttemptAt: pending.nextAttemptAt?.toISOString(),
      attempts: [],
    });
    expect(data[2]).toMatchObject({
      nextAttemptAt: null,
      attempts: outcomes.map((each) => ({ startedAt: startedAt.toISOString(), ...each })),
    });
    for (const each of [pending, succeeded, failed]) {
      const { body } = await call('GET', `/deliveries?status=${each.status}`);
      expect(body.data.map((found: { id: string }) => found.id)).toEqual([each.id]);
    }
    const pages = [
      await call('GET', '/deliveries?limit=2'),
      await call('GET', '/deliveries?limit=2&offset=2'),
    ];
    expect(pages.flatMap(({ body }) => body.data)).toEqual(data);
    expect(pages.map(({ body }) => body.hasMore)).toEqual([true, false]);
  });
});

describe('a retry', () => {
  test.each([
    ['failed', null],
    ['succeeded', null],
    ['pending', minutesAgo(-60)],
  ] as const)('makes a delivery that is %s due now', async (status, nextAttemptAt) => {
    const attempts = [{ number: 1, startedAt: minutesAgo(9).toISOString(), durationMs: 4 }];
    const columns = { status, nextAttemptAt, createdAt: minutesAgo(10), attempts };
    const stored = await storeDelivery(service, id, columns);
    const before = Date.now();
    const answer = await call('POST', `/deliveries/${stored.id}/retry`);
    expect(answer.status).toBe(200);
    const row = await rowOf(stored.id);
    expect(row).toEqual({ ...stored, status: 'pending', nextAttemptAt: row.nextAttemptAt });
    expect(Math.abs(Number(row.nextAttemptAt) - before)).toBeLessThan(60_000);
    expect(answer.body.data).toMatchObject({
      ...{ id: stored.id, status: 'pending', nextAttemptAt: row.nextAttemptAt?.toISOString() },
      attempts: [{ durationMs: 4 }],
    });
    expect(service.deps.queues.wakeWorkers).toHaveBeenCalledOnce();
    const audit = await auditOf(service, id);
    expect(audit.at(-1)).toMatchObject({
      action: 'webhook_endpoint.delivery_retried',
      detail: { delivery: stored.id },
    });
  });

  test('of a delivery that does not exist, or is of another endpoint, is not found', async () => {
    const { id: other } = await newEndpoint(service);
    const elsewhere = await storeDelivery(service, other);
    for (const each of [elsewhere.id, newId('del')]) {
      const answer = refusalOf(await call('POST', `/deliveries/${each}/retry`));
      expect(answer).toEqual([404, 'not_found', 'Webhook delivery not found.']);
    }
    expect(await rowOf(elsewhere.id)).toEqual(elsewhere);
    expect(service.deps.queues.wakeWorkers).not.toHaveBeenCalled();
  });
});

describe('a replay', () => {
  test('makes the failed deliveries since a time due now, unless another status is given', async () => {
    const since = minutesAgo(30);
    const early = await storeDelivery(service, id, { createdAt: minutesAgo(31) });
    const failed = [
      await storeDelivery(service, id, { createdAt: since }),
      await storeDelivery(service, id, { createdAt: minutesAgo(1) }),
    ];
    const succeeded = await storeDelivery(service, id, { status: 'succeeded', createdAt: minutesAgo(20) });
    const scheduled = minutesAgo(-60);
    const pending = await storeDelivery(service, id, {
      ...{ status: 'pending', nextAttemptAt: scheduled, createdAt: minutesAgo(10) },
    });
    const { id: other } = await newEndpoint(service);
    const elsewhere = await storeDelivery(service, other);
    const isDue = async (deliveryId: string) => {
      const { status, nextAttemptAt } = await rowOf(deliveryId);
      return status === 'pending' && nextAttemptAt !== null && nextAttemptAt < scheduled;
    };
    const replay = await call('POST', '/replay', { since: since.toISOString() });
    expect([replay.status, replay.body]).toEqual([200, { data: { count: 2 } }]);
    for (const each of failed) expect(await isDue(each.id)).toBe(true);
    for (const each of [early, succeeded, pending, elsewhere]) expect(await rowOf(each.id)).toEqual(each);
    const again = await call('POST', '/replay', { since: since.toISOString(), status: 'succeeded' });
    expect(again.body.data).toEqual({ count: 1 });
    expect(await isDue(succeeded.id)).toBe(true);
    // In another time zone, the same moment.
    const local = new Date(since.getTime() + 3_600_000).toISOString().replace('Z', '+01:00');
    const all = await call('POST', '/replay', { since: local, status: 'pending' });
    expect(all.body.data).toEqual({ count: 4 });
    expect(await isDue(pending.id)).toBe(true);
    const audit = await auditOf(service, id);
    expect(audit.at(-1)).toMatchObject({
      action: 'webhook_endpoint.replayed',
      detail: { since: since.toISOString(), status: 'pending' },
    });
  });

  test('takes 10,000 deliveries, and the rest with the next request, each once', async () => {
    // Many of the same millisecond.
    await query(
      service.databaseUrl,
      `INSERT INTO webhook_delivery (id, endpoint_id, event_id, type, status, created_at)
       SELECT new_type_id('del', now()), '${id}', new_type_id('evt', now()), 'refund.failed', 'failed',
         now() - CASE WHEN n < 1500 THEN 5 ELSE 4 END * interval '1 minute'
       FROM generate_series(1, 10300) AS n`,
    );
    const since = minutesAgo(60).toISOString();
    for (const count of [10_000, 300, 0]) {
      const { body } = await call('POST', '/replay', { since, status: 'failed' });
      expect(body.data).toEqual({ count });
    }
    const where = { endpointId: id, status: 'pending', nextAttemptAt: { not: null } } as const;
    expect(await service.deps.db.webhookDelivery.count({ where })).toBe(10_300);
  });
});

test.each([
  ['GET', '/deliveries?offset=1000001', 'offset: must be at most 1000000 (filter by status to read fewer)'],
  ['POST', '/replay', 'since: must be a time in ISO 8601', { since: '2026-02-30T00:00:00Z' }],
  ['POST', '/replay', 'since: must be a time in ISO 8601', { since: '9999-12-31T23:59:59-12:00' }],
  ['POST', '/rotate-secret', 'from 0 to 604800 (seven days)', { overlapSeconds: 604_801 }],
  ['PATCH', '', 'description: must have at most 500 characters', { description: 'x'.repeat(501) }],
] as const)('refuses %s %s: %s %j', async (method, path, message, body?: object) => {
  expect(refusalOf(await call(method, path, body))).toEqual([
    ...[400, 'validation_error'],
    expect.stringContaining(message),
  ]);
});

test('a disabled endpoint takes no test event, no retry and no replay', async () => {
  const stored = await storeDelivery(service, id);
  expect((await call('PATCH', '', { status: 'disabled' })).status).toBe(200);
  const disabled = [400, 'validation_error', 'The webhook endpoint is disabled. Enable it first.'];
  const since = minutesAgo(60).toISOString();
  for (const [path, body] of [
    ['/test'],
    [`/deliveries/${stored.id}/retry`],
    ['/replay', { since }],
    ['/replay-missing', { since }],
  ] as const) {
    expect(refusalOf(await call('POST', path, body))).toEqual(disabled);
  }
  expect(await service.deps.db.webhookDelivery.findMany()).toEqual([stored]);
});
