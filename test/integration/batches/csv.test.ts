import { expect, test } from 'vitest';
import { readRows } from '#api/operations/batch-rows.ts';
import { readCsvRows } from '#shared/batches/csv.ts';
import { useBatches } from '../../support/refunds/use-batches.ts';

const { service, rowsOf, results, workOff } = useBatches();
const createCsv = async (text: string) =>
  await service.call('POST', '/v1/refund-batches', {
    body: text,
    headers: { 'content-type': 'text/csv; charset=utf-8' },
  });

test.each([
  // Names that are unknown and repeated, which are compared with each other.
  ['columns is refused before they are compared', `${'a,'.repeat(80_000)}\n`, 'more than 60 columns'],
  // Its end is no CSV.
  [
    'rows is refused before it is read to its end',
    `transactionId,amount,reason\n${',,\n'.repeat(1_000_000)}"`,
    'must have at most 10000 rows',
  ],
])('a CSV with too many %s', async (_what, text, problem) => {
  expect(await createCsv(text)).toMatchObject({
    status: 400,
    body: { error: { message: expect.stringContaining(problem) } },
  });
});

test('a CSV of 4 MB leaves time to other requests while it is read', async () => {
  let turns = 0;
  let next: NodeJS.Immediate | undefined;
  const count = () => {
    turns += 1;
    next = setImmediate(count);
  };
  count();
  const row = `,ch_1,5,${'é'.repeat(190)}`;
  const read = await readCsvRows(`reason,transactionId,amount,metadata.note${`\n${row}`.repeat(9_900)}`);
  const turnsOfParsing = turns;
  const rows = await readRows(read);
  clearImmediate(next);
  expect(rows).toHaveLength(9_900);
  // After each 64 KB of text, and after each 20 rows.
  expect(turnsOfParsing).toBeGreaterThan(60);
  expect(turns - turnsOfParsing).toBeGreaterThan(490);
});

test('a CSV is read with quotes, line breaks in cells, a byte order mark, and columns of metadata', async () => {
  const [first, second] = await rowsOf(2);
  const { status, body } = await createCsv(
    '\uFEFFtransactionId,amount,reason,metadata.order_id,metadata.note\r\n' +
      `${first?.transactionId},250,other,00123,"Said ""no"", then\nleft"\r\n\r\n` +
      `"${second?.transactionId}", ,product_defective,,\r\n`,
  );
  expect([status, body.data?.rows.total]).toEqual([200, 2]);
  await workOff();
  const [quoted, remaining] = await results(body.data.id);
  expect([quoted.amount, remaining.amount]).toEqual([250, 10_000]);
  const refund = await service.call('GET', `/v1/refunds/${quoted.refundId}`);
  expect(refund.body.data.metadata).toEqual({ order_id: '00123', note: 'Said "no", then\nleft' });
  const fileOf = async (query: string) =>
    await service.app.inject({
      url: `/v1/refund-batches/${body.data.id}/results${query}`,
      headers: { authorization: `Bearer ${service.organization.keys.test.plaintext}`, accept: 'text/csv' },
    });
  const file = await fileOf('');
  expect(file.headers['content-type']).toBe('text/csv; charset=utf-8');
  const header = 'row,state,transactionId,refundId,amount,currency,refundStatus,errorCode,errorMessage';
  expect(file.body.split('\r\n').slice(0, 2)).toEqual([
    header,
    `1,created,${first?.transactionId},${quoted.refundId},250,usd,processing,,`,
  ]);
  expect((await fileOf('?state=rejected')).body).toBe(`${header}\r\n`);
});

test.each([
  ['semicolons', 'transactionId;amount;reason;metadata.note;;\n ch_1;250;other;a,b;;\n;;;;;\n'],
  ['tabs', '"transactionId"\tamountMinor\treason\tmetadata.note\nch_1\t250\tother\ta,b\n'],
  [
    'a line that names them',
    '\uFEFFsep=;\r\nmetadata.note;reason;amount;transactionId\r\na,b;other;250;ch_1\r\n',
  ],
])('cells may be separated by %s, and rows and last columns be empty', async (_what, text) => {
  const row = { transactionId: 'ch_1', amount: 250, reason: 'other', metadata: { note: 'a,b' } };
  expect(await readCsvRows(text)).toEqual([row]);
});

test.each([
  ['without the amounts', 'transactionId,reason\nch_1,other', /^body: the column amount is missing; leave/],
  ['with a column misspelt', 'transactionId,Amount,reason\nch_1,1,other', /^body: unknown column "Amount"/],
  [
    'with a column that would be lost',
    'transactionId,amount,reason,metadata.__proto__\nch_1,1,other,x',
    /^body: unknown column "metadata.__proto__"/,
  ],
  ['with a column twice', 'transactionId,amount,amount\nch_1,1,', /^body: the column "amount" is repeated/],
  [
    'with a shorter row',
    'transactionId,amount,reason\nch_1,1',
    /^body: row 1 has 2 cells, but the header has 3/,
  ],
  [
    'with a cell beyond its columns',
    'transactionId,amount,reason,\nch_1,1,other,x',
    /^body: row 1 has 4 cells/,
  ],
  [
    'with two amounts',
    'transactionId,amount,amountMinor,reason\nch_1,1,1,other',
    /^body: the columns amount and/,
  ],
  ['with major units', 'transactionId,amount,reason\nch_1,10.50,other', /Row 1: amount: must be a positive/],
  [
    'whose quotes do not end',
    'transactionId,amount,reason\nch_1,1,"other',
    /^body: not valid CSV in line 2;/,
  ],
  ['without rows', 'transactionId,amount,reason', /^rows: must not be empty/],
])('a CSV %s is refused', async (_case, text, message) => {
  const { status, body } = await createCsv(text);
  expect([status, body.error.message]).toEqual([400, expect.stringMatching(message)]);
});
