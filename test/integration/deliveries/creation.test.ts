import pg from 'pg';
import { afterAll, describe, expect, test } from 'vitest';
import { recordStatements } from '../../support/stores/statements.ts';
import { useDeliveryStage } from '../../support/webhooks/delivery-stage.ts';
import { addEndpoint, recordCancellation, recordRefunds } from '../../support/webhooks/endpoints.ts';

// Before the connections are made.
const recording = recordStatements();
afterAll(() => recording.stop());
const stage = useDeliveryStage();
const { service } = stage;
const url = 'http://127.0.0.1:1/';

const typesFor = async (endpointId: string) =>
  (
    await service.deps.db.webhookDelivery.findMany({ where: { endpointId }, orderBy: { position: 'asc' } })
  ).map(({ type }) => type);

test.each([
  [['*'], ['refund.created', 'refund.cancelled']],
  [['refund.cancelled'], ['refund.cancelled']],
  [['refund.completed', 'refund.created'], ['refund.created']],
  [['refund.failed'], []],
])('an endpoint for %j gets %j', async (events, expected) => {
  const endpoint = await addEndpoint(service, { url, events });
  const [id = ''] = await recordRefunds(service, 1);
  await recordCancellation(service, id);
  await stage.create();
  expect(await typesFor(endpoint.id)).toEqual(expected);
});

test('an event goes to no other organization or environment, and to no disabled endpoint', async () => {
  const other = await service.addOrganization('Other');
  const others = [
    await addEndpoint(service, { url, organizationId: other.id }),
    await addEndpoint(service, { url, environment: 'live' }),
    await addEndpoint(service, { url }),
  ];
  const [, , disabled] = others;
  await service.deps.db.webhookEndpoint.update({
    where: { id: disabled?.id ?? '' },
    data: { status: 'disabled' },
  });
  await recordRefunds(service, 1);
  await stage.create();
  for (const { id } of others) expect(await typesFor(id)).toEqual([]);
});

test('events are delivered from the creation of an endpoint on', async () => {
  const first = await addEndpoint(service, { url });
  await recordRefunds(service, 1);
  await stage.create();
  const second = await addEndpoint(service, { url });
  await recordRefunds(service, 2);
  await stage.create();
  expect([await typesFor(first.id), await typesFor(second.id)].map(({ length }) => length)).toEqual([3, 2]);
});

test('workers that look at the same time make one delivery per event and endpoint', async () => {
  const endpoints = [await addEndpoint(service, { url }), await addEndpoint(service, { url })];
  const rounds = Array.from({ length: 8 }, async () => {
    await recordRefunds(service, 40);
    await Promise.all(Array.from({ length: 4 }, () => stage.create()));
  });
  await Promise.all(rounds);
  await stage.create();
  for (const { id } of endpoints) expect(await typesFor(id)).toHaveLength(320);
});

describe('an event whose transaction commits late', () => {
  test('is delivered, and before the later ones', async () => {
    const endpoint = await addEndpoint(service, { url });
    const client = new pg.Client({ connectionString: service.databaseUrl });
    await client.connect();
    try {
      const [known = ''] = await recordRefunds(service, 1);
      await stage.create();
      await client.query('BEGIN');
      const asked = {
        refund_id: known,
        organization_id: service.organization.id,
        environment: 'test',
        actor: 'test',
        event_id: 'evt_late',
      };
      await client.query('SELECT outcome FROM cancel_refund($1::jsonb)', [JSON.stringify(asked)]);
      await recordRefunds(service, 1);
      await stage.create();
      expect(await typesFor(endpoint.id)).toEqual(['refund.created']);
      await client.query('COMMIT');
      await stage.create();
      const all = ['refund.created', 'refund.cancelled', 'refund.created'];
      expect(await typesFor(endpoint.id)).toEqual(all);
    } finally {
      await client.end();
    }
  });
});

test('looking for new events is one statement, and writes nothing when there are none', async () => {
  await stage.create();
  const cursor = await rowOfCursor();
  const statements = await recording.during(() => stage.create());
  expect(statements).toHaveLength(1);
  expect(await rowOfCursor()).toEqual(cursor);
});

const rowOfCursor = async () =>
  await service.deps.db.$queryRaw`SELECT xmin::text, position FROM webhook_cursor`;
