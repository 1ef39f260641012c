import { afterAll, beforeAll, expect, test } from 'vitest';
import { type Database, Prisma, type Refund } from '#shared/platform/database.ts';
import type { RefundOwner } from '#shared/refunds/model/refund.ts';
import { exportRefunds } from '#shared/refunds/queries/export-refunds.ts';
import { parseCsv, wholeText } from '#test/support/http/csv.ts';
import { fillRefunds } from '#test/support/refunds/fill-refunds.ts';
import { useDatabase } from '#test/support/stores/database.ts';
import { withClient } from '#test/support/stores/database-client.ts';
import { openTestDatabase } from '#test/support/stores/open-database.ts';

const now = new Date('2026-11-21T12:00:00Z');
const many: RefundOwner = { organizationId: 'org_many', environment: 'live' };
const one: RefundOwner = { organizationId: 'org_one', environment: 'test' };

const databaseUrl = useDatabase();
let db: Database;
let template: Omit<Refund, 'isLive'>;

beforeAll(async () => {
  await withClient(databaseUrl(), async (client) => {
    await fillRefunds(client, { ...many, count: 1_200, now, days: 10 });
    await fillRefunds(client, { ...one, count: 1, now, days: 1 });
  });
  db = openTestDatabase(databaseUrl(), 2);
  await db.refund.updateMany({ where: one, data: { status: 'processing' } });
  // Room for more refunds.
  await db.payment.updateMany({ where: many, data: { amount: 1_000_000n } });
  const { isLive: _isLive, ...row } = await db.refund.findFirstOrThrow({ where: many });
  template = row;
});
afterAll(() => db.$disconnect());

const header =
  'id,organizationId,environment,externalRefundId,transactionId,amount,amountDecimal,currency,reason,status,' +
  'processor,processorStatus,failureCode,failureMessage,metadata,initiatedBy,createdAt,updatedAt';

async function onlyRow(data: Prisma.RefundUpdateManyMutationInput): Promise<Record<string, string>> {
  await db.refund.updateMany({ where: one, data });
  const text = await wholeText(exportRefunds(db, one, {}));
  const [names = [], values = [], ...others] = parseCsv(text);
  expect(others).toEqual([]);
  expect(values).toHaveLength(names.length);
  return Object.fromEntries(names.map((name, index) => [name, values[index] ?? '']));
}

test('writes one line per refund with all fields, amounts in minor units and decimals, times in UTC', async () => {
  const { id, transactionId } = await db.refund.findFirstOrThrow({ where: one });
  const texts = { failureCode: 'declined', failureMessage: 'No.', processorStatus: 'failed' } as const;
  const kept = { currency: 'kwd', reason: 'other', status: 'failed', ...texts } as const;
  const row = await onlyRow({
    ...kept,
    externalRefundId: null,
    amount: 1_050n,
    metadata: { order: 'A "1", B' },
    createdAt: new Date('2026-11-20T23:59:59.999Z'),
    updatedAt: new Date('2026-11-21T00:00:00Z'),
  });
  expect(row).toMatchObject({
    ...{ id, organizationId: 'org_one', environment: 'test', externalRefundId: '', transactionId },
    ...kept,
    amount: '1050',
    amountDecimal: '1.050',
    metadata: '{"order":"A \\"1\\", B"}',
    createdAt: '2026-11-20T23:59:59.999Z',
    updatedAt: '2026-11-21T00:00:00.000Z',
  });
  expect(Object.keys(row).join(',')).toBe(header);
  expect(await onlyRow({ metadata: Prisma.DbNull })).toMatchObject({ metadata: '' });
  const nothing = exportRefunds(db, { ...one, environment: 'live' }, {});
  expect(await wholeText(nothing)).toBe(`${header}\r\n`);
});

test('exports each refund once, in batches, while others are created and changed', async () => {
  const before = await db.refund.findMany({ where: many, orderBy: [{ createdAt: 'desc' }, { id: 'desc' }] });
  const lines: string[][] = [];
  const sizes: number[] = [];
  for await (const piece of exportRefunds(db, many, {})) {
    const batch = parseCsv(piece);
    sizes.push(batch.length);
    lines.push(...batch);
    await db.refund.create({
      data: {
        ...template,
        metadata: {},
        arrival: {},
        options: {},
        id: `ref_new${sizes.length}`,
        createdAt: new Date(now.getTime() + 1_000 * sizes.length),
      },
    });
    await db.refund.updateMany({
      where: { id: { in: batch.map(([id = '']) => id) } },
      data: { updatedAt: now },
    });
  }
  expect(sizes).toEqual([1, 500, 500, 200]);
  expect(lines.slice(1).map(([id]) => id)).toEqual(before.map(({ id }) => id));
});
