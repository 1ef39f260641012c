import { expect, test } from 'vitest';
import type { Database } from '../../../shared/platform/database.ts';
import { createDeliveries } from '../../../worker/deliver/create-deliveries.ts';
import { openWebhookSender } from '../../../worker/deliver/deliver-webhook.ts';
import { createDeliveriesBetween } from '../../../worker/deliver/statements.ts';
import { useService } from '../../support/use-service.ts';
import { addEndpoint, recordCancellation, recordRefunds } from '../../support/webhooks/endpoints.ts';
import { useReceivers } from '../../support/webhooks/receivers.ts';

// One connection, whose counts can be read at once.
const service = useService({ workers: 0, settings: { DATABASE_POOL_SIZE: 1 } });
const newReceiver = useReceivers();
const url = 'http://127.0.0.1:1/';
const none = { reached: 0n, upto: 0n };

test('new events are looked for once, however many endpoints other organizations have', async () => {
  await addEndpoint(service, { url });
  const { id: organizationId } = await service.addOrganization('Other');
  for (let each = 0; each < 20; each += 1) await addEndpoint(service, { url, organizationId });
  await recordRefunds(service, 3);
  const { db } = service.deps;
  const [feed] = await db.$queryRaw<{ reached: bigint; upto: bigint }[]>`
    SELECT position AS reached, settled_event_position() AS upto FROM webhook_cursor`;
  const counted = await db.$transaction(async (tx) => {
    const leased = await createDeliveriesBetween(tx as Database, { ...(feed ?? none), most: 500 });
    const [scans] = await tx.$queryRaw<{ count: number }[]>`
      SELECT pg_stat_get_xact_numscans('refund_event_all_feeds'::regclass)::int AS count`;
    return { leased: leased.length, scans: scans?.count };
  });
  expect(counted).toEqual({ leased: 3, scans: 1 });
});

test('two events of a refund to an endpoint that accepts them cost four row writes, and one of the cursor', async () => {
  const { db } = service.deps;
  const sender = openWebhookSender(service.deps);
  const create = async () => await createDeliveries(service.deps, sender, new AbortController().signal);
  await create();
  await sender.untilIdle();
  await db.webhookEndpoint.deleteMany();
  const receiver = await newReceiver();
  await addEndpoint(service, { url: receiver.url });
  const [id = ''] = await recordRefunds(service, 1);
  await recordCancellation(service, id);
  const before = await rowWrites();
  await create();
  await sender.close();
  expect(receiver.received.map(({ event }) => event.type)).toEqual(['refund.created', 'refund.cancelled']);
  const written = [...(await rowWrites())].map(([name, writes]) => [name, writes - (before.get(name) ?? 0)]);
  expect(Object.fromEntries(written)).toEqual({
    webhook_cursor: 1,
    webhook_delivery: 4,
    webhook_endpoint: 0,
  });
});

async function rowWrites(): Promise<Map<string, number>> {
  const { db } = service.deps;
  await db.$queryRaw`SELECT pg_stat_force_next_flush()::text`;
  const rows = await db.$queryRaw<{ name: string; writes: number }[]>`
    SELECT relname AS name, (n_tup_ins + n_tup_upd + n_tup_del)::int AS writes FROM pg_stat_user_tables
    WHERE relname LIKE 'webhook%'`;
  return new Map(rows.map(({ name, writes }) => [name, writes]));
}
