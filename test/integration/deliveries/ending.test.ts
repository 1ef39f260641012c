import { expect, test } from 'vitest';
import { newId } from '#shared/platform/ids.ts';
import { endPendingDeliveries } from '#shared/webhooks/deliveries.ts';
import { waitForLock, withClient } from '../../support/stores/database-client.ts';
import { useService } from '../../support/use-service.ts';
import { newEndpoint, storeDelivery } from '../../support/webhooks/api-endpoints.ts';

const service = useService({ workers: 0 });

test('ending the deliveries of an endpoint locks them in the order of their ids', async () => {
  const { db } = service.deps;
  const { id: endpointId } = await newEndpoint(service);
  const ids = Array.from({ length: 20 }, () => newId('del')).toSorted();
  // The table, and the index that finds them, have the opposite order.
  for (const [place, id] of ids.toReversed().entries()) {
    const createdAt = new Date(Date.now() + place * 60_000);
    await storeDelivery(service, endpointId, { id, status: 'pending', nextAttemptAt: createdAt, createdAt });
  }
  await db.webhookEndpoint.update({ where: { id: endpointId }, data: { status: 'disabled' } });
  await withClient(service.databaseUrl, async (client) => {
    await client.query('BEGIN');
    const lock = 'SELECT 1 FROM webhook_delivery WHERE id = $1 FOR UPDATE NOWAIT';
    await client.query(lock, [ids[0]]);
    const ending = endPendingDeliveries(db, endpointId);
    await waitForLock(client);
    expect((await client.query(lock, [ids[19]])).rowCount).toBe(1);
    await client.query('COMMIT');
    await ending;
  });
  expect(await db.webhookDelivery.count({ where: { endpointId, status: 'pending' } })).toBe(0);
});
