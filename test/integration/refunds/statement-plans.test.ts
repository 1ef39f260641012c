import { randomUUID } from 'node:crypto';
import { expect, test } from 'vitest';
import { advanceRefund } from '../../../worker/advance/advance-refund.ts';
import { newPayment } from '../../support/refunds/payments.ts';
import { useService } from '../../support/use-service.ts';

// One connection, so that the session whose plans are kept is the one that counts.
const service = useService({ workers: 0, settings: { DATABASE_POOL_SIZE: 1 } });

/** How often each table was read from its first row to its last, and the work by its due time, where claims would meet all due work. */
async function wholeReads(): Promise<Record<string, number>> {
  const { db } = service.deps;
  await db.$queryRaw`SELECT pg_stat_force_next_flush()::text`;
  const rows = await db.$queryRaw<{ relname: string; scans: number }[]>`
    SELECT relname, seq_scan::int AS scans FROM pg_stat_user_tables
    WHERE relname IN ('payment', 'refund', 'refund_work', 'refund_attempt', 'refund_event')
    UNION ALL
    SELECT indexrelname, idx_scan::int FROM pg_stat_user_indexes WHERE indexrelname = 'refund_work_due'`;
  return Object.fromEntries(rows.map(({ relname, scans }) => [relname, scans]));
}

test('refunds are created and sent by key, although the planner last saw the tables empty', async () => {
  await service.deps.db.$executeRaw`ANALYZE`;
  const payments = await Promise.all(
    Array.from({ length: 5 }, () => newPayment(service, { processor: 'stripe', amount: 100_000 })),
  );
  const { payment: _before, ...before } = await wholeReads();
  for (let round = 0; round < 6; round += 1) {
    const ids = await Promise.all(payments.map(create));
    for (const id of ids) await advanceRefund(service.deps, id);
  }
  const { payment, ...after } = await wholeReads();
  expect(after).toEqual(before);
  // When a creation decides, it may read a small table of payments as a whole, for the payment and its alias.
  expect(payment).toBeLessThanOrEqual(60);
});

async function create(transactionId: string): Promise<string> {
  const { body } = await service.call('POST', '/v1/refunds', {
    body: { transactionId, amount: 1, reason: 'other' },
    headers: { prefer: 'respond-async', 'idempotency-key': randomUUID() },
  });
  return body.data.id;
}
