import { afterEach, expect, test, vi } from 'vitest';
import { requestResync } from '#shared/refunds/changes/work.ts';
import type { Claim } from '#shared/refunds/lifecycle/statements.ts';
import { paused } from '#test/support/processors/paused.ts';
import { newRefund } from '#test/support/refunds/new-refund.ts';
import { useServiceAlone } from '#test/support/use-service-alone.ts';

const service = useServiceAlone({
  workers: 0,
  // One connection, so that the session whose reads are counted is the one that counts.
  settings: { DATABASE_POOL_SIZE: 1, PROCESSOR_ACCOUNT_CONCURRENCY: 300 },
});

afterEach(async () => {
  vi.restoreAllMocks();
  // Keeps them out of the next test.
  await service.deps.db.refundWork.updateMany({ data: { dueAt: new Date('2100-01-01') } });
});

/** Creates refunds that are due; returns their ids. */
async function dueRefunds(processor: string, count: number): Promise<string[]> {
  vi.spyOn(service.deps.queues, 'wake').mockImplementation(() => {});
  const ids: string[] = [];
  for (let index = 0; index < count; index += 1) ids.push((await newRefund(service, { processor })).id);
  return ids;
}

async function claimDue(most: number): Promise<Claim[]> {
  return (await service.deps.statements.claimDue('stripe', most)).claims;
}

const idsOf = (claims: readonly Claim[]) => claims.map(({ refund }) => refund.id);

test('concurrent workers claim every refund that is due once', async () => {
  const due = await dueRefunds('stripe', 12);
  const claims = await Promise.all(Array.from({ length: 5 }, () => claimDue(5)));
  expect(idsOf(claims.flat()).toSorted()).toEqual(due.toSorted());
  expect(await service.deps.statements.claimDue('stripe', 5)).toEqual({
    claims: [],
    isMore: false,
    isWaiting: false,
  });
});

test('what waits for an operation that is paused for long is postponed, and delays no other operation or account', async () => {
  const { db, clock } = service.deps;
  const other = await service.addOrganization('Other');
  const sends = await dueRefunds('stripe', 5);
  const pausedUntil = new Date(clock.now().getTime() + 3_000_000);
  const where = { organizationId: service.organization.id };
  await db.processorAccount.updateMany({ where, data: { rateLimits: paused(pausedUntil, 'createRefund') } });
  const { id: ofOther } = await newRefund(
    service,
    { processor: 'stripe' },
    { key: other.keys.test.plaintext },
  );
  const [reviewed = ''] = await dueRefunds('stripe', 1);
  await db.refund.update({ where: { id: reviewed }, data: { status: 'cancelled' } });
  const found = [
    await service.deps.statements.claimDue('stripe', 4),
    await service.deps.statements.claimDue('stripe', 4),
  ];
  expect(found.map(({ isMore }) => isMore)).toEqual([true, false]);
  expect(idsOf(found.flatMap(({ claims }) => claims)).toSorted()).toEqual([ofOther, reviewed].toSorted());
  await db.processorAccount.updateMany({ where, data: { rateLimits: {} } });
  const postponed = await db.refundWork.findMany({ where: { refundId: { in: sends } } });
  expect(postponed.map(({ dueAt, waitingFor }) => ({ dueAt, waitingFor }))).toEqual(
    Array(5).fill({ dueAt: pausedUntil, waitingFor: 'rate_limited' }),
  );
});

test('a backlog does not delay a resync that is due earlier', async () => {
  const { db } = service.deps;
  const [id = '', ...backlog] = await dueRefunds('stripe', 4);
  await db.refund.update({ where: { id }, data: { status: 'cancelled' } });
  await requestResync(db, { id });
  await db.refundWork.update({ where: { refundId: id }, data: { dueAt: new Date(Date.now() - 120_000) } });
  expect(idsOf(await claimDue(2)).toSorted()).toEqual([id, backlog[0]].toSorted());
});

test('a backlog is claimed in batches and recorded by key, although it was planned when next to nothing was due', async () => {
  const { db } = service.deps;
  const [model = ''] = await dueRefunds('stripe', 1);
  await db.refundWork.deleteMany({ where: { refundId: { not: model } } });
  // In parts, because each refund writes the row of their payment, of which a transaction keeps all versions.
  for (let last = 500; last <= 7_000; last += 500)
    await db.$executeRaw`
      INSERT INTO refund (id, account_id, organization_id, environment, transaction_id, payment_id, processor, amount, currency, reason, status,
        initiated_by, requester, created_at, updated_at)
      SELECT 'ref_waiting' || n, account_id, organization_id, environment, transaction_id, payment_id, processor, 1, 'usd', 'other',
        'processing', 'api', requester, service_time(), service_time()
      FROM refund, generate_series(${last}::int - 499, ${last}::int) AS n WHERE refund.id = ${model}`;
  // As in an outage: the plan is from before, when next to nothing was due.
  await service.ownerDb.$executeRaw`VACUUM (FULL, ANALYZE) refund_work`;
  for (let rounds = 1; rounds <= 10; rounds += 1) await postpone(await claimDue(100), 0);
  await postpone([await service.deps.statements.claim(model)], 0);
  await db.refundWork.updateMany({ data: { dueAt: new Date('2100-01-01') } });
  await db.$executeRaw`
    INSERT INTO refund_work (refund_id, account_id, organization_id, environment, processor, due_at)
    SELECT id, account_id, organization_id, environment, processor, service_time() FROM refund WHERE id LIKE 'ref_waiting%'`;
  const claimed: Claim[] = [];
  for (let batch = 1; batch <= 3; batch += 1) {
    const before = await rowsRead();
    claimed.push(...(await claimDue(100)));
    // The 500 longest due, the places of the account and 100 more, and three for each, of 7,000.
    expect((await rowsRead()) - before).toBeLessThan(2_500);
  }
  expect(new Set(idsOf(claimed)).size).toBe(300);
  const before = await rowsRead();
  await postpone(claimed.slice(0, 100), 60_000);
  expect((await rowsRead()) - before).toBeLessThan(2_500);
});

/** Records that nothing came of claims, which are due again later. */
async function postpone(claims: readonly (Claim | null)[], dueInMs: number): Promise<void> {
  const items = claims.map((claim) => ({
    ...{ refund_id: claim?.refund.id, lease_token: Number(claim?.work.leaseToken), expected: 'processing' },
    ...{ entries: [], change: {}, due_in_ms: dueInMs, ends_attempt: true },
  }));
  const results = await service.deps.db.$queryRaw<{ outcome: string }[]>`
    SELECT outcome FROM record_refunds(${JSON.stringify(items)}::jsonb)`;
  for (const { outcome } of results) expect(outcome).toBe(dueInMs === 0 ? 'due' : 'recorded');
}

/** How many rows of work were read in the table, and entries in its indexes. */
async function rowsRead(): Promise<number> {
  const { db } = service.deps;
  await db.$queryRaw`SELECT pg_stat_force_next_flush()::text`;
  const [row] = await db.$queryRaw<{ count: bigint }[]>`
    SELECT (seq_tup_read + (SELECT sum(idx_tup_read) FROM pg_stat_user_indexes AS i WHERE i.relid = t.relid))::bigint AS count
    FROM pg_stat_user_tables AS t WHERE relname = 'refund_work'`;
  return Number(row?.count);
}
