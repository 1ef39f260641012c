import { beforeEach, describe, expect, test } from 'vitest';
import { maxEndpoints } from '#shared/webhooks/manage-endpoints.ts';
import { auditOf } from '../../support/audit-log.ts';
import { expectNotInDatabase } from '../../support/stores/database-content.ts';
import { useService } from '../../support/use-service.ts';
import { newEndpoint, refusalOf, storeDelivery } from '../../support/webhooks/api-endpoints.ts';

const service = useService({ workers: 0 });
// Their number is limited.
beforeEach(() => service.deps.db.webhookEndpoint.deleteMany());

const live = () => ({ key: service.organization.keys.live.plaintext });
const create = (options = {}) => newEndpoint(service, options);
const call = async (method: 'GET' | 'POST' | 'PATCH' | 'DELETE', path: string, body?: unknown) =>
  await service.call(method, `/v1/webhook-endpoints${path}`, { body });

describe('creating an endpoint', () => {
  test('shows the secret once and stores it encrypted', async () => {
    const body = {
      url: 'https://example.com/hooks?token=private',
      events: ['refund.failed', 'refund.created'],
    };
    const { status, body: answer } = await call('POST', '', { ...body, description: 'Orders' });
    expect(status).toBe(200);
    const { secret, ...endpoint } = answer.data;
    expect(endpoint).toEqual({
      id: expect.stringMatching(/^we_[0-9a-z]{26}$/),
      url: body.url,
      events: ['refund.created', 'refund.failed'],
      description: 'Orders',
      status: 'enabled',
      disabledReason: null,
      createdBy: `key:${service.organization.keys.test.id}`,
      createdAt: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/),
      updatedAt: endpoint.createdAt,
    });
    expect(secret).toMatch(/^whsec_/);
    expect(Buffer.from(secret.slice('whsec_'.length), 'base64')).toHaveLength(32);
    expect((await call('GET', '')).body).toEqual({ data: [endpoint], hasMore: false });
    expect((await call('GET', `/${endpoint.id}`)).body).toEqual({ data: endpoint });
    await expectNotInDatabase(service.databaseUrl, secret);
    expect(await auditOf(service, endpoint.id)).toMatchObject([
      {
        organizationId: service.organization.id,
        actor: `key:${service.organization.keys.test.id}`,
        action: 'webhook_endpoint.created',
        detail: { environment: 'test', host: 'example.com' },
      },
    ]);
  });

  test('subscribes to all events by default', async () => {
    expect(await create()).toMatchObject({ events: ['*'], description: null });
    expect(await create({ events: ['refund.failed', '*', 'refund.failed'] })).toMatchObject({
      events: ['*'],
    });
  });

  test.each([
    [{ url: 'ftp://example.com' }, 'url: must begin with https:// or http://'],
    [
      { events: ['refund.created', 'refund.lost'] },
      'events.1: unknown type "refund.lost"; use *, refund.created',
    ],
  ])('refuses %j', async (body, message) => {
    const [status, code, actual] = refusalOf(
      await call('POST', '', { url: 'https://example.com/', ...body }),
    );
    expect([status, code]).toEqual([400, 'validation_error']);
    expect(actual).toMatch(message);
    expect((await call('GET', '')).body.data).toEqual([]);
  });

  test(`is refused beyond ${maxEndpoints} per environment, also when several are created at once`, async () => {
    for (let count = 1; count < maxEndpoints; count += 1) await create();
    const body = { url: 'https://example.com/' };
    const answers = await Promise.all([1, 2, 3, 4].map(() => call('POST', '', body)));
    expect(answers.map(({ status }) => status).toSorted()).toEqual([200, 400, 400, 400]);
    const refused = answers.find(({ status }) => status === 400);
    expect(refused?.body.error.message).toBe(
      'This environment already has 16 webhook endpoints, the maximum. Delete one first.',
    );
    await create(live());
    const { data: endpoints } = (await call('GET', '')).body;
    expect(endpoints).toHaveLength(maxEndpoints);
    await call('DELETE', `/${endpoints[0].id}`);
    expect((await call('POST', '', body)).status).toBe(200);
  });
});

test('lists the endpoints of one organization and environment, newest first', async () => {
  const ids = [await create(), await create()].map(({ id }) => id);
  const other = await create(live());
  await create({ key: (await service.addOrganization('Other')).keys.test.plaintext });
  const listed = (await call('GET', '')).body.data;
  expect(listed.map(({ id }: { id: string }) => id)).toEqual(ids.toReversed());
  const listedLive = await service.call('GET', '/v1/webhook-endpoints', live());
  expect(listedLive.body.data).toMatchObject([{ id: other.id }]);
});

describe('changing an endpoint', () => {
  test('changes the given fields and no others', async () => {
    const { secret: _, ...before } = await create({ description: 'Orders' });
    const changes = [
      { url: 'https://example.com/other' },
      { events: ['refund.cancelled'] },
      { description: null },
      { status: 'disabled', events: ['*'] },
    ];
    let expected = before;
    for (const change of changes) {
      const { status, body } = await call('PATCH', `/${before.id}`, change);
      const disabledReason = 'status' in change ? 'requested' : null;
      expected = { ...expected, ...change, disabledReason, updatedAt: body.data.updatedAt };
      expect([status, body.data]).toEqual([200, expected]);
      expect((await call('GET', `/${before.id}`)).body.data).toEqual(expected);
    }
    const audit = (await auditOf(service, before.id)).slice(1);
    expect(audit.map(({ action }) => action)).toEqual(changes.map(() => 'webhook_endpoint.changed'));
    expect(audit.at(-1)?.detail).toMatchObject({
      changed: 'events, status, disabledReason',
      status: 'disabled',
    });
  });

  test.each([{}, { url: 'http://127.0.0.1:9/hooks', events: ['*'], description: null, status: 'enabled' }])(
    'leaves no trace when nothing differs: %j',
    async (change) => {
      const { secret: _, ...before } = await create();
      const { status, body } = await call('PATCH', `/${before.id}`, change);
      expect([status, body.data]).toEqual([200, before]);
      expect(await auditOf(service, before.id)).toHaveLength(1);
    },
  );

  test('to disabled ends its pending deliveries, and to enabled forgets its failures', async () => {
    const [endpoint, other] = [await create(), await create()];
    const due = { status: 'pending', nextAttemptAt: new Date() } as const;
    const pending = await storeDelivery(service, endpoint.id, due);
    const succeeded = await storeDelivery(service, endpoint.id, { status: 'succeeded' });
    const elsewhere = await storeDelivery(service, other.id, due);
    const { db } = service.deps;
    await call('PATCH', `/${endpoint.id}`, { status: 'disabled' });
    const rowOf = (id: string) => db.webhookDelivery.findUniqueOrThrow({ where: { id } });
    expect(await rowOf(pending.id)).toEqual({ ...pending, status: 'failed', nextAttemptAt: null });
    expect(await rowOf(succeeded.id)).toEqual(succeeded);
    expect(await rowOf(elsewhere.id)).toEqual(elsewhere);
    const where = { id: endpoint.id };
    await db.webhookEndpoint.update({ where, data: { disabledReason: 'failing', failingSince: new Date() } });
    expect((await call('GET', `/${endpoint.id}`)).body.data.disabledReason).toBe('failing');
    const enabled = await call('PATCH', `/${endpoint.id}`, { status: 'enabled' });
    expect(enabled.body.data).toMatchObject({ status: 'enabled', disabledReason: null });
    expect(await db.webhookEndpoint.findUnique({ where })).toMatchObject({ failingSince: null });
    // What ended is not sent later.
    expect((await rowOf(pending.id)).status).toBe('failed');
  });

  test('to disabled acknowledges that the service disabled it', async () => {
    const { id } = await create();
    const data = { status: 'disabled', disabledReason: 'gone' } as const;
    await service.deps.db.webhookEndpoint.update({ where: { id }, data });
    const { body } = await call('PATCH', `/${id}`, { status: 'disabled' });
    expect(body.data).toMatchObject({ status: 'disabled', disabledReason: 'requested' });
  });

  test('to another URL forgets its failures', async () => {
    const { id } = await create();
    const update = { where: { id }, data: { failingSince: new Date() } };
    await service.deps.db.webhookEndpoint.update(update);
    await call('PATCH', `/${id}`, { description: 'Moved' });
    expect(await service.deps.db.webhookEndpoint.findUnique({ where: { id } })).toMatchObject(update.data);
    await call('PATCH', `/${id}`, { url: 'https://example.com/new' });
    expect(await service.deps.db.webhookEndpoint.findUnique({ where: { id } })).toMatchObject({
      failingSince: null,
    });
  });
});

test('deletes an endpoint, which is unknown from then on, and ends its pending deliveries', async () => {
  const { id } = await create();
  const pending = await storeDelivery(service, id, { status: 'pending', nextAttemptAt: new Date() });
  const { status, body } = await call('DELETE', `/${id}`, {});
  expect([status, body]).toEqual([200, { data: { id, deleted: true } }]);
  const { db } = service.deps;
  expect(await db.webhookDelivery.findUnique({ where: { id: pending.id } })).toMatchObject({
    status: 'failed',
    nextAttemptAt: null,
  });
  // A worker that has not heard of it sends nothing.
  expect(await db.webhookEndpoint.findUnique({ where: { id } })).toMatchObject({ status: 'disabled' });
  expect((await call('GET', '')).body.data).toEqual([]);
  const requests = [
    call('GET', `/${id}`),
    call('PATCH', `/${id}`, { status: 'enabled' }),
    call('DELETE', `/${id}`),
    call('POST', `/${id}/test`),
    call('GET', `/${id}/deliveries`),
  ];
  for (const answer of await Promise.all(requests)) {
    expect(refusalOf(answer)).toEqual([404, 'not_found', 'Webhook endpoint not found.']);
  }
  expect((await auditOf(service, id)).map(({ action }) => action)).toEqual([
    'webhook_endpoint.created',
    'webhook_endpoint.deleted',
  ]);
});
