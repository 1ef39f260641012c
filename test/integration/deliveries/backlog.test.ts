import { expect, test } from 'vitest';
import { listDeliveries } from '../../../shared/webhooks/deliveries.ts';
import { claimDue } from '../../../worker/deliver/statements.ts';
import { useService } from '../../support/use-service.ts';
import { addEndpoint } from '../../support/webhooks/endpoints.ts';

// One connection, whose plans are kept and whose counts can be read at once.
const service = useService({ workers: 0, settings: { DATABASE_POOL_SIZE: 1 } });

async function rowsRead(): Promise<number> {
  const { db } = service.deps;
  await db.$queryRaw`SELECT pg_stat_force_next_flush()::text`;
  const [row] = await db.$queryRaw<{ count: number }[]>`
    SELECT (t.seq_tup_read + sum(i.idx_tup_read))::int AS count
    FROM pg_stat_user_tables AS t JOIN pg_stat_user_indexes AS i USING (relid)
    WHERE t.relname = 'webhook_delivery' GROUP BY t.seq_tup_read`;
  return row?.count ?? 0;
}

test('a backlog of 20,000 deliveries is read a few rows at a time, although the planner last saw the table empty', async () => {
  const { db } = service.deps;
  await service.ownerDb.$executeRaw`ANALYZE webhook_delivery, webhook_endpoint`;
  const { id } = await addEndpoint(service, { url: 'http://127.0.0.1:1/' });
  await db.$executeRaw`
    INSERT INTO webhook_delivery (id, endpoint_id, event_id, type, refund_id, position, status, next_attempt_at, created_at)
    SELECT 'del_' || n, ${id}, 'evt_' || n, 'refund.created', 'ref_' || n / 2, n, 'pending', service_time() - interval '1 hour',
      service_time() - n * interval '1 second'
    FROM generate_series(1, 20000) AS n`;
  const before = await rowsRead();
  for (let round = 0; round < 8; round += 1) {
    const claims = await claimDue(db, round % 2 === 0 ? null : ['del_1'], 500);
    expect(claims).toHaveLength(round === 0 ? 10 : 0);
    const owner = { organizationId: service.organization.id, environment: 'test' } as const;
    for (const status of ['pending', 'failed', undefined] as const) {
      const listed = await listDeliveries(db, owner, id, { status, limit: 25, offset: 0 });
      expect(listed).toHaveLength(status === 'failed' ? 0 : 25);
    }
  }
  expect((await rowsRead()) - before).toBeLessThan(1_500);
});
