import { afterAll, beforeAll, expect, test } from 'vitest';
import type { Database } from '#shared/platform/database.ts';
import { eraseRefunds, findErasable } from '#shared/refunds/decisions/erase.ts';
import { fillRefunds } from '../../support/refunds/fill-refunds.ts';
import { useDatabase } from '../../support/stores/database.ts';
import { withClient } from '../../support/stores/database-client.ts';
import { openTestDatabase } from '../../support/stores/open-database.ts';
import { waitFor } from '../../support/wait-for.ts';

const databaseUrl = useDatabase();
const owner = { organizationId: 'org_many', environment: 'live' } as const;
const now = new Date('2026-11-21T12:00:00Z');

let db: Database;
beforeAll(async () => {
  await withClient(databaseUrl(), async (client) => {
    await fillRefunds(client, { ...owner, count: 1_100, now, days: 10 });
  });
  db = openTestDatabase(databaseUrl());
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

test('all refunds of an organization are found and erased, in however many batches', async () => {
  await db.refund.updateMany({ data: { metadata: { customer: 'Ada' } } });
  const refundIds = await findErasable(db, owner, {});
  expect(new Set(refundIds).size).toBe(1_100);
  await erase(refundIds);
  expect(await findErasable(db, owner, {})).toEqual([]);
});
