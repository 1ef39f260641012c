import { beforeAll, expect, test, vi } from 'vitest';
import { createDeliveries } from '#worker/deliver/create-deliveries.ts';
import { openWebhookSender } from '#worker/deliver/deliver-webhook.ts';
import { webhookAbout } from '../../support/processors/signed-webhooks.ts';
import { reportOf, useWebhooks } from '../../support/processors/webhooks.ts';
import { advanceRefund } from '../../support/refunds/advance-refund.ts';
import { newPayment } from '../../support/refunds/payments.ts';
import { rowOf } from '../../support/refunds/refund-records.ts';
import { useService } from '../../support/use-service.ts';
import { addEndpoint } from '../../support/webhooks/endpoints.ts';
import { useReceivers } from '../../support/webhooks/receivers.ts';

// One connection, whose counts can be read at once, and no worker: each step is done here.
const service = useService({ workers: 0, settings: { DATABASE_POOL_SIZE: 1 } });
const webhooks = useWebhooks(service);
const newReceiver = useReceivers();

// Fewer than an endpoint takes at once, so that all are born with a lease; and several batches.
const [batch, batches] = [10, 3];
const refunds = batch * batches;

/** What one connection has written: rows by table, with the updates that no index took part in, and the WAL of all. */
interface Written {
  tables: Record<string, { writes: number; updates: number; hot: number }>;
  walBytes: number;
}

async function written(): Promise<Written> {
  const { db } = service.deps;
  await db.$queryRaw`SELECT pg_stat_force_next_flush()::text`;
  const rows = await db.$queryRaw<{ name: string; writes: number; updates: number; hot: number }[]>`
    SELECT relname AS name, (n_tup_ins + n_tup_upd + n_tup_del)::int AS writes, n_tup_upd::int AS updates,
      n_tup_hot_upd::int AS hot
    FROM pg_stat_user_tables WHERE schemaname = 'public'`;
  const [wal] = await db.$queryRaw<{ bytes: number }[]>`
    SELECT wal_bytes::float8 AS bytes FROM pg_stat_get_backend_wal(pg_backend_pid())`;
  return {
    tables: Object.fromEntries(rows.map(({ name, ...counts }) => [name, counts])),
    walBytes: wal?.bytes ?? 0,
  };
}

/** The difference per refund. */
function perRefund(before: Written, after: Written) {
  const tables = Object.entries(after.tables).flatMap(([name, { writes, updates, hot }]) => {
    const then = before.tables[name] ?? { writes: 0, updates: 0, hot: 0 };
    const hotShare = updates === then.updates ? null : (hot - then.hot) / (updates - then.updates);
    return writes === then.writes ? [] : [{ name, writes: (writes - then.writes) / refunds, hotShare }];
  });
  return { tables, walBytes: (after.walBytes - before.walBytes) / refunds };
}

/** The whole life of refunds that settle in the processor's answer, with two events and one endpoint that accepts all. */
async function live(payments: readonly string[]): Promise<void> {
  vi.spyOn(service.deps.queues, 'wake').mockImplementation(() => {});
  const sender = openWebhookSender(service.deps);
  const deliver = async () => {
    await createDeliveries(service.deps, sender, new AbortController().signal);
    await sender.untilIdle();
  };
  const headers = { prefer: 'respond-async' };
  const bodies = payments.map((transactionId) => ({ transactionId, amount: 100, reason: 'other' }));
  const answers = await Promise.all(
    bodies.map((body) => service.call('POST', '/v1/refunds', { body, headers })),
  );
  const ids: string[] = answers.map(({ body }) => body.data.id);
  await deliver();
  await Promise.all(ids.map((id) => advanceRefund(service.deps, id)));
  for (const id of ids) {
    const report = reportOf(await rowOf(service, id));
    for (let event = 0; event < 2; event += 1) await webhooks.send('stripe', webhookAbout('stripe', report));
  }
  await deliver();
  await sender.close();
}

beforeAll(async () => {
  await service.sandbox.settings({ autoSettleMs: 0 });
  const receiver = await newReceiver();
  await addEndpoint(service, { url: receiver.url });
});

test('a refund that settles in the answer costs twelve row writes, and one per batch', async () => {
  const payments = await Promise.all(Array.from({ length: batch }, () => newPayment(service)));
  await live(payments);
  const before = await written();
  for (let each = 0; each < batches; each += 1) await live(payments);
  const { tables, walBytes } = perRefund(before, await written());
  expect(Object.fromEntries(tables.map(({ name, ...costs }) => [name, costs]))).toEqual({
    // Nearly all: a busy machine keeps old row versions for longer.
    payment: { writes: 1, hotShare: expect.closeTo(1, 0) },
    refund: { writes: 2, hotShare: 0 },
    refund_work: { writes: 3, hotShare: 1 },
    refund_event: { writes: 2, hotShare: null },
    webhook_delivery: { writes: 4, hotShare: 0 },
    // Once per batch of events.
    webhook_cursor: { writes: 2 / batch, hotShare: 1 },
    // Once per claim of a batch.
    operation_calls: { writes: 1 / batch, hotShare: 1 },
  });
  expect(walBytes).toBeLessThan(9_000);
});
