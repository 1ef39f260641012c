import { expect, test } from 'vitest';
import type { Database } from '#shared/platform/database.ts';
import { createDeliveriesBetween } from '#worker/deliver/statements.ts';
import { useService } from '../../support/use-service.ts';
import { addEndpoint, recordRefunds } from '../../support/webhooks/endpoints.ts';

const service = useService({ workers: 0, settings: { DATABASE_POOL_SIZE: 1 } });
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
