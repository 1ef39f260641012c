import { afterAll, beforeAll, expect, test } from 'vitest';
import { deleteUser } from '#shared/people/members/delete-user.ts';
import { type Database, openDatabase } from '#shared/platform/database.ts';
import { eraseRefunds } from '#shared/refunds/decisions/erase.ts';
import { fillRefunds } from '../../support/refunds/many-refunds.ts';
import { useDatabase } from '../../support/stores/database.ts';
import { withClient } from '../../support/stores/database-client.ts';
import { waitFor } from '../../support/wait-for.ts';

const databaseUrl = useDatabase();
const owner = { organizationId: 'org_many', environment: 'live' } as const;
const now = new Date('2026-11-21T12:00:00Z');
const email = 'ada@example.com';

/** One connection, whose statistics can be read at once. */
let db: Database;
beforeAll(async () => {
  await withClient(databaseUrl(), async (client) => {
    await fillRefunds(client, { ...owner, count: 300, now, days: 10 });
    await client.query('ANALYZE');
    // More than the planner knows of.
    await client.query(
      `insert into audit_log (id, organization_id, actor, action, target, detail, created_at)
         select 'aud_' || n, 'org_many', 'user:usr_ada', 'user.signed_in', 'ses_' || n, '{}', $1::timestamptz - n * interval '1 minute'
         from generate_series(1, 20000) as n`,
      [now],
    );
    await client.query(
      `insert into webhook_endpoint (id, organization_id, environment, url, events, encrypted_secret, encryption_key_id, created_at, updated_at)
         values ('whe_1', 'org_many', 'live', 'https://example.com', '{*}', '', 'none', $1, $1)`,
      [now],
    );
    await client.query(
      `insert into webhook_delivery (id, endpoint_id, event_id, type, refund_id, position, status, attempts, created_at)
         select 'whd_' || n, 'whe_1', 'evt_' || n, 'refund.created', 'of another event ' || n, n, 'succeeded',
           jsonb_build_array(jsonb_build_object('number', 1, 'startedAt', $1::timestamptz, 'responseBody', 'ok')), $1
         from generate_series(1, 20000) as n`,
      [now],
    );
  });
  db = openDatabase(databaseUrl(), { poolSize: 1 });
});
afterAll(() => db.$disconnect());

const erase = (refundIds: readonly string[]) =>
  eraseRefunds(
    { db, clock: { now: () => now } },
    { organizationId: owner.organizationId, refundIds, actor: 'cli:test' },
  );

/** Refunds with metadata, whose processors said something. */
async function someRefunds(count: number): Promise<string[]> {
  const found = await db.refund.findMany({
    where: { metadata: { not: 'DbNull' }, status: 'processing' },
    orderBy: { id: 'asc' },
    take: count,
  });
  const ids = found.map(({ id }) => id);
  expect(ids).toHaveLength(count);
  const flag = { flaggedAt: now, flagReason: 'missing_there', flagFacts: { message: 'No refund of Ada' } };
  await db.refundWork.updateMany({ where: { refundId: { in: ids } }, data: flag });
  return ids;
}

const leftOf = (ids: readonly string[]) =>
  withClient(databaseUrl(), async (client) => {
    const { rows } = await client.query<{ id: string }>(
      `select id from refund left join refund_work on refund_id = id
       where id = any ($1) and (metadata is not null or flag_facts ? 'message')`,
      [ids],
    );
    return rows.map(({ id }) => id);
  });

test('an erasure waits for a refund that a worker holds without stopping other refunds or the worker', async () => {
  const [held = '', ...others] = await someRefunds(3);
  await withClient(databaseUrl(), async (worker) => {
    // As record_refunds does: the payment, the work, and then the refund.
    await worker.query('begin');
    await worker.query(
      'select from payment join refund on payment.id = payment_id where refund.id = $1 for update of payment',
      [held],
    );
    await worker.query('select from refund_work where refund_id = $1 for update', [held]);
    const erased = erase([held, ...others]);
    await waitFor(
      'the other refunds to be erased',
      async () => (await leftOf([held, ...others])).length === 1,
    );
    await worker.query(`update refund set processor_status = 'pending' where id = $1`, [held]);
    await withClient(databaseUrl(), async (another) => {
      for (const id of others) {
        await another.query('select from refund_work where refund_id = $1 for update nowait', [id]);
        await another.query('select from refund where id = $1 for update nowait', [id]);
      }
    });
    expect(await leftOf([held])).toEqual([held]);
    await worker.query('commit');
    await erased;
  });
  expect(await leftOf([held, ...others])).toEqual([]);
  const entries = await db.auditLog.groupBy({
    by: ['target'],
    where: { action: 'refund.erased' },
    _count: true,
  });
  expect(entries.map(({ target, _count }) => [target, _count])).toEqual(
    expect.arrayContaining([held, ...others].map((id) => [id, 1])),
  );
});

test('two erasures of the same rows do not deadlock: the second begins when the first has ended', async () => {
  const ids = await someRefunds(1);
  await withClient(databaseUrl(), async (first) => {
    await first.query('begin');
    await first.query(`select pg_advisory_xact_lock(hashtextextended('erasure', 0))`);
    const erased = erase(ids);
    await waitFor('the second to wait', async () => {
      const { rows } = await first.query(`select from pg_locks where locktype = 'advisory' and not granted`);
      return rows.length === 1;
    });
    expect(await leftOf(ids)).toEqual(ids);
    await first.query('commit');
    await erased;
  });
  expect(await leftOf(ids)).toEqual([]);
});

/** Scans of whole tables, and entries that were read in indexes, since the last call. */
async function readSince(before: Record<string, number>): Promise<Record<string, number>> {
  await db.$queryRaw`SELECT pg_stat_force_next_flush()::text`;
  const rows = await db.$queryRaw<{ name: string; count: number }[]>`
    SELECT relname AS name, seq_scan::int AS count FROM pg_stat_user_tables WHERE relname = ANY(${growing})
    UNION ALL
    SELECT 'entries', sum(idx_tup_read)::int FROM pg_stat_user_indexes WHERE relname = ANY(${growing})`;
  return Object.fromEntries(rows.map(({ name, count }) => [name, count - (before[name] ?? 0)]));
}

const growing = [
  ...['audit_log', 'reconciliation_finding', 'refund', 'refund_event'],
  ...['refund_work', 'webhook_delivery'],
];
const noScans = Object.fromEntries(growing.map((table) => [table, 0]));

test('an erasure of a refund reads by key, whatever else the audit log and the events hold', async () => {
  const ids = await someRefunds(2);
  const [id = ''] = ids;
  const created = { refundId: id, seq: 1, type: 'refund.created', actor: 'user:usr_ada', detail: {} };
  await db.refundEvent.create({
    data: { ...created, ...owner, id: 'evt_17', status: 'processing', position: 17, createdAt: now },
  });
  await db.webhookDelivery.update({ where: { id: 'whd_17' }, data: { refundId: id } });
  const before = await readSince({});
  await erase(ids);
  const { entries, ...scans } = await readSince(before);
  expect(scans).toEqual(noScans);
  expect(entries).toBeLessThan(200);
  expect(await leftOf(ids)).toEqual([]);
  const erased = await db.$queryRaw<{ id: string }[]>`
    SELECT id FROM webhook_delivery WHERE attempts->0->>'responseBody' = '(erased)'`;
  expect(erased).toEqual([{ id: 'whd_17' }]);
});

test('an erasure of an address reads by key, whatever else the audit log holds', async () => {
  await db.auditLog.create({
    data: {
      ...{ id: 'aud_invited', organizationId: owner.organizationId, actor: 'user:usr_bob', target: 'inv_1' },
      ...{ action: 'invitation.created', detail: { email, role: 'admin' }, createdAt: now },
    },
  });
  const before = await readSince({});
  await deleteUser({ db, clock: { now: () => now } }, { email, actor: 'cli:test' });
  const { entries, ...scans } = await readSince(before);
  expect(scans).toEqual(noScans);
  expect(entries).toBeLessThan(200);
  expect(await db.auditLog.findUniqueOrThrow({ where: { id: 'aud_invited' } })).toMatchObject({
    detail: { email: '(erased)', role: 'admin' },
  });
});
