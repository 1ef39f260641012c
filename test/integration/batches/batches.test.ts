import { afterEach, beforeAll, describe, expect, test, vi } from 'vitest';
import { readRows } from '#api/operations/refund-batches.ts';
import { readCsvRows } from '#shared/batches/csv.ts';
import { revokeApiKey } from '#shared/organizations/api-keys.ts';
import { ServiceError } from '#shared/platform/errors.ts';
import { endRecovery, requireRecovery } from '#shared/refunds/lifecycle/recovery.ts';
import { advanceOneBatch, batchTasks } from '#worker/schedule/advance-batches.ts';
import { retention } from '#worker/schedule/retention.ts';
import { startSchedule } from '#worker/schedule/schedule.ts';
import { advanceRefund } from '../../support/refunds/advance-refund.ts';
import { expectInvariants } from '../../support/refunds/invariants.ts';
import { newPayment } from '../../support/refunds/payments.ts';
import type { CallOptions } from '../../support/service.ts';
import { useService } from '../../support/use-service.ts';

// Batches of refunds. No worker runs by itself, so that a test sees every slice.

const service = useService({
  workers: 0,
  settings: { CREATE_WAIT_MS: 0, SETTLEMENT_BASE_MS: 600_000, SETTLEMENT_CAP_MS: 600_000 },
});
beforeAll(() => service.sandbox.settings({ autoSettleMs: null }));
afterEach(async () => {
  await expectInvariants(service);
  await service.deps.db.refundBatch.updateMany({
    where: { status: 'processing' },
    data: { status: 'paused', dueAt: null },
  });
});

const rowsOf = async (count: number, more: object = {}) =>
  await Promise.all(
    Array.from({ length: count }, async () => ({
      transactionId: await newPayment(service),
      amount: 1_000,
      reason: 'other',
      ...more,
    })),
  );
const create = async (rows: unknown, { query = '', ...options }: CallOptions & { query?: string } = {}) =>
  await service.call('POST', `/v1/refund-batches${query}`, { body: { rows }, ...options });
const createCsv = async (text: string, query = '') =>
  await service.call('POST', `/v1/refund-batches${query}`, {
    body: text,
    headers: { 'content-type': 'text/csv; charset=utf-8' },
  });
const created = async (...[rows, options]: Parameters<typeof create>): Promise<string> => {
  const { status, body } = await create(rows, options);
  expect([status, body.error]).toEqual([200, undefined]);
  return body.data.id;
};
const read = async (id: string) => (await service.call('GET', `/v1/refund-batches/${id}`)).body.data;
const results = async (id: string) =>
  (await service.call('GET', `/v1/refund-batches/${id}/results?limit=1000`)).body.data;
const refundsOf = async (transactionId: string) =>
  await service.deps.db.refund.findMany({ where: { transactionId } });
/** Creates refunds until no batch is due; what is due to be sent is sent first, as it holds up a batch. */
const workOff = async () => {
  do {
    const due = await service.deps.db.refundWork.findMany({ where: { dueAt: { lte: new Date() } } });
    for (const { refundId } of due) await advanceRefund(service.deps, refundId);
  } while (await advanceOneBatch(service.deps));
};

test('creates a refund for each row, with its fields and the API key as the actor', async () => {
  const [first, second] = await rowsOf(2);
  const rows = [
    { ...first, metadata: { order_id: '1001' } },
    { transactionId: second?.transactionId, remaining: true, reason: 'wrong_product' },
  ];
  const id = await created(rows);
  expect(await read(id)).toMatchObject({
    ...{ status: 'processing', pauseReason: null, mode: 'strict', completedAt: null },
    rows: { total: 2, waiting: 2, created: 0, rejected: 0 },
  });
  await workOff();
  expect(await read(id)).toMatchObject({
    ...{ status: 'completed', completedAt: expect.any(String) },
    ...{ rows: { total: 2, waiting: 0, created: 2, rejected: 0 }, refunds: { processing: 2, failed: 0 } },
  });
  const [one, other] = await results(id);
  expect([one, other]).toMatchObject([
    { row: 1, state: 'created', amount: 1_000, refundStatus: 'processing', errorCode: null },
    { row: 2, state: 'created', amount: 10_000, currency: 'usd' },
  ]);
  const { body } = await service.call('GET', `/v1/refunds/${one.refundId}`);
  expect(body.data).toMatchObject({ metadata: { order_id: '1001' }, initiatedBy: 'api', reason: 'other' });
  const [event] = await service.deps.db.refundEvent.findMany({ where: { refundId: one.refundId, seq: 1 } });
  expect(event?.actor).toBe(`key:${service.organization.keys.test.id}`);
  // What the refund has is kept with it alone, so that an erasure finds all of it.
  const kept = await service.deps.db.refundBatchRow.findMany({ where: { batchId: id } });
  expect(kept.map(({ content }) => content)).toEqual([null, null]);
});

describe('invalid rows', () => {
  test('refuse a strict batch, and the error lists them', async () => {
    const [valid] = await rowsOf(1, { idempotencyKey: 'same' });
    const { status, body } = await create([
      valid,
      { ...valid, amount: 0 },
      { ...valid, idempotencyKey: 'other', note: 'x' },
      valid,
      { reason: 'other', amount: 1, remaining: true },
      'text',
    ]);
    expect([status, body.error.code]).toEqual([400, 'validation_error']);
    expect(body.error.message.split(' | ')).toEqual([
      expect.stringMatching(/^No refund was created\. Row 2: amount: must be a positive whole number/),
      'Row 3: "note": unknown field',
      'Row 4: idempotencyKey: is the same as in row 1',
      'Row 5: transactionId: is required; remaining: cannot be combined with amount',
      'Row 6: row: must be a JSON object',
    ]);
    expect(await service.deps.db.refundBatch.count({ where: { rowCount: 6 } })).toBe(0);
  });

  test('are listed up to a bound', async () => {
    const { body } = await create(Array.from({ length: 10_000 }, () => ({ amount: 1.5 })));
    expect(body.error.message.length).toBeLessThan(4_000);
    expect(body.error.message).toMatch(/ \| and 99\d\d more rows$/);
    expect((await create(Array.from({ length: 10_001 }, () => ({})))).body.error.message).toBe(
      'rows: must have at most 10000 rows',
    );
  });

  test('are rejected in a partial batch, and the others go on', async () => {
    const [valid] = await rowsOf(1);
    const id = await created([{ transactionId: 'ch_1' }, valid], { query: '?mode=partial' });
    await workOff();
    expect((await read(id)).rows).toEqual({ total: 2, waiting: 0, created: 1, rejected: 1 });
    const errorMessage = expect.stringContaining('reason: is required; amount: is required');
    expect(await results(id)).toMatchObject([
      { state: 'rejected', refundId: null, errorCode: 'validation_error', errorMessage },
      { state: 'created' },
    ]);
  });
});

test('a row whose refund is refused is rejected with the code that a creation gets, and the others go on', async () => {
  const [spent, fine] = await rowsOf(2);
  const full = { ...spent, amount: 10_000 };
  expect((await service.call('POST', '/v1/refunds', { body: full })).status).toBe(200);
  const id = await created([full, { ...fine, amount: 20_000 }, fine]);
  await workOff();
  expect(await results(id)).toMatchObject([
    { state: 'rejected', errorCode: 'refund_already_processed', transactionId: full.transactionId },
    { state: 'rejected', errorCode: 'validation_error' },
    { state: 'created' },
  ]);
});

describe('CSV', () => {
  test.each([
    ['columns', `transactionId,${'a,'.repeat(80_000)}amount,reason\n`, 'more than 60 columns'],
    ['rows', `transactionId,amount,reason\n${',,\n'.repeat(1_000_000)}`, 'must have at most 10000 rows'],
  ])('with a million %s is refused before it is read to its end', async (_what, text, problem) => {
    const since = performance.now();
    expect(await createCsv(text)).toMatchObject({
      status: 400,
      body: { error: { message: expect.stringContaining(problem) } },
    });
    expect(performance.now() - since).toBeLessThan(5_000);
  });

  test('of 4 MB leaves time to other requests while it is read', async () => {
    let turns = 0;
    const counting = setInterval(() => (turns += 1));
    const row = `,ch_1,5,${'é'.repeat(190)}`;
    const rows = await readRows(
      await readCsvRows(`reason,transactionId,amount,metadata.note${`\n${row}`.repeat(9_900)}`),
    );
    clearInterval(counting);
    expect(rows).toHaveLength(9_900);
    expect(turns).toBeGreaterThan(50);
  });

  test('is read with quotes, line breaks in cells, a byte order mark, and columns of metadata', async () => {
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
    const file = await service.app.inject({
      url: `/v1/refund-batches/${body.data.id}/results`,
      headers: { authorization: `Bearer ${service.organization.keys.test.plaintext}`, accept: 'text/csv' },
    });
    expect(file.headers['content-type']).toBe('text/csv; charset=utf-8');
    expect(file.body.split('\r\n').slice(0, 2)).toEqual([
      'row,state,transactionId,refundId,amount,currency,refundStatus,errorCode,errorMessage',
      `1,created,${first?.transactionId},${quoted.refundId},250,usd,processing,,`,
    ]);
  });

  test.each([
    ['without the amounts', 'transactionId,reason\nch_1,other', /^body: the column amount is missing; leave/],
    ['with a column misspelt', 'transactionId,Amount,reason\nch_1,1,other', /^body: unknown column "Amount"/],
    ['with a column twice', 'transactionId,amount,amount\nch_1,1,', /^body: the column "amount" is repeated/],
    ['with a shorter row', 'transactionId,amount,reason\nch_1,1', /^body: not valid CSV in line 2;/],
    [
      'with major units',
      'transactionId,amount,reason\nch_1,10.50,other',
      /Row 1: amount: must be a positive/,
    ],
    ['without rows', 'transactionId,amount,reason', /^rows: must not be empty/],
  ])('%s is refused', async (_case, text, message) => {
    const { status, body } = await createCsv(text);
    expect([status, body.error.message]).toEqual([400, expect.stringMatching(message)]);
  });
});

test('a repeated batch with the same key is the same batch, and another one with the key is refused', async () => {
  const rows = await rowsOf(2);
  const headers = { 'idempotency-key': 'batch-1' };
  const [id, again] = await Promise.all([created(rows, { headers }), created(rows, { headers })]);
  expect(again).toBe(id);
  await workOff();
  const repeated = await create(rows, { headers });
  expect(repeated.headers['idempotent-replayed']).toBe('true');
  expect(repeated.body.data).toMatchObject({ id, status: 'completed' });
  const other = await create(rows.slice(1), { headers });
  expect([other.status, other.body.error.code]).toEqual([422, 'idempotency_key_reused']);
  // Once the batch has expired, its key still finds the refunds.
  await service.ownerDb
    .$executeRaw`UPDATE refund_batch SET updated_at = updated_at - interval '91 days' WHERE id = ${id}`;
  await retention.expireBatches(service.deps);
  const later = await created(rows, { headers });
  expect(later).not.toBe(id);
  await workOff();
  expect((await read(later)).rows.created).toBe(2);
  for (const { transactionId } of rows) expect(await refundsOf(transactionId)).toHaveLength(1);
});

test('a batch that is resumed while old ones are deleted has all of its rows, or is gone', async () => {
  const rows = Array.from({ length: 1_100 }, () => ({ transactionId: 'ch_1', amount: 1, reason: 'other' }));
  const id = await created(rows);
  const { db } = service.deps;
  const long = { status: 'paused', pauseReason: 'requested', dueAt: null, updatedAt: new Date('2026-01-01') };
  await db.refundBatch.update({ where: { id }, data: long });
  const execute = db.$executeRaw.bind(db);
  vi.spyOn(db, '$executeRaw').mockImplementationOnce((async (...statement: Parameters<typeof execute>) => {
    const deleted = await execute(...statement);
    await service.call('POST', `/v1/refund-batches/${id}/resume`);
    return deleted;
  }) as never);
  await retention.expireBatches(service.deps);
  const batch = await db.refundBatch.findUnique({ where: { id } });
  expect(await db.refundBatchRow.count({ where: { batchId: id } })).toBe(batch?.rowCount ?? 0);
});

test("a row's own key is that of a creation, so that a refund that exists is not created again", async () => {
  const [row] = await rowsOf(1);
  const headers = { 'idempotency-key': 'order-77' };
  const { body } = await service.call('POST', '/v1/refunds', { body: row, headers });
  const id = await created([{ ...row, idempotencyKey: 'order-77' }]);
  await workOff();
  expect(await results(id)).toMatchObject([{ state: 'created', refundId: body.data.id }]);
});

test('a worker that is killed before it records a slice leaves it to another one, and each row is refunded once', async () => {
  const rows = await rowsOf(60);
  const id = await created(rows);
  const { db } = service.deps;
  // It creates the refunds of a slice, and then nothing of it reaches the database any more.
  const dying = vi.spyOn(db, '$executeRaw').mockRejectedValueOnce(new Error('killed'));
  await expect(advanceOneBatch(service.deps)).rejects.toThrow('killed');
  dying.mockRestore();
  expect((await read(id)).rows.waiting).toBe(60);
  await workOff();
  expect((await read(id)).rows.waiting, 'its lease holds').toBe(60);
  await db.$executeRaw`UPDATE refund_batch SET due_at = service_time() WHERE id = ${id}`;
  await workOff();
  expect(await read(id)).toMatchObject({ status: 'completed', rows: { created: 60, rejected: 0 } });
  const refunds = await db.refund.findMany({
    where: { transactionId: { in: rows.map(({ transactionId }) => transactionId) } },
  });
  expect(refunds).toHaveLength(60);
});

test('a batch waits while many refunds of its owner are due to be sent', async () => {
  const rows = await rowsOf(120);
  const id = await created(rows);
  while (await advanceOneBatch(service.deps)) {}
  expect((await read(id)).rows).toMatchObject({ waiting: 70, created: 50 });
  await workOff();
  expect((await read(id)).rows).toMatchObject({ waiting: 0, created: 120 });
});

test('batches whose processor hangs hold up no batch of another organization', async () => {
  const other = await service.addOrganization('Other');
  const key = other.keys.test.plaintext;
  for (let count = 0; count < 9; count += 1) await created(await rowsOf(1));
  const id = await created(await rowsOf(1), { key });
  let release = (_error: Error) => {};
  const hanging = new Promise<never>((_resolve, reject) => {
    release = reject;
  });
  const create = service.deps.statements.create;
  vi.spyOn(service.deps.statements, 'create').mockImplementation((item) =>
    item.organizationId === other.id ? create(item) : hanging,
  );
  const schedule = startSchedule(service.deps, batchTasks(service.deps));
  await vi.waitFor(
    async () => {
      const { body } = await service.call('GET', `/v1/refund-batches/${id}`, { key });
      expect(body.data.status).toBe('completed');
    },
    { timeout: 20_000 },
  );
  release(new ServiceError('service_unavailable', 'The processor does not answer.'));
  await schedule.close();
  vi.restoreAllMocks();
});

test('a paused batch begins no row until it is resumed', async () => {
  const id = await created(await rowsOf(1));
  const pause = await service.call('POST', `/v1/refund-batches/${id}/pause`);
  expect(pause.body.data).toMatchObject({ status: 'processing', pauseReason: 'requested' });
  await workOff();
  expect(await read(id)).toMatchObject({ status: 'paused', pauseReason: 'requested', rows: { waiting: 1 } });
  const resume = await service.call('POST', `/v1/refund-batches/${id}/resume`);
  expect(resume.body.data).toMatchObject({ status: 'processing', pauseReason: null });
  await workOff();
  expect(await read(id)).toMatchObject({ status: 'completed' });
  const audit = await service.deps.db.auditLog.findMany({ where: { target: id }, orderBy: { id: 'asc' } });
  expect(audit.map(({ action }) => action)).toEqual([
    ...['refund_batch.created', 'refund_batch.paused', 'refund_batch.resumed'],
  ]);
});

test('a paused batch is settled with one look-up, however many of its rows wait', async () => {
  const id = await created(
    Array.from({ length: 1_000 }, () => ({ transactionId: 'ch_1', amount: 1, reason: 'other' })),
  );
  await service.call('POST', `/v1/refund-batches/${id}/pause`);
  const queries = vi.spyOn(service.deps.db, '$queryRaw');
  await advanceOneBatch(service.deps);
  expect(queries.mock.calls.length).toBeLessThan(10);
  queries.mockRestore();
  expect(await read(id)).toMatchObject({ status: 'paused', rows: { waiting: 1_000 } });
});

test('a batch of a restored database begins no row, and is not paused, until the recovery has ended', async () => {
  const ids = [await created(await rowsOf(1)), await created(await rowsOf(1))];
  await service.call('POST', `/v1/refund-batches/${ids[1]}/pause`);
  await requireRecovery(service.deps.db);
  await workOff();
  for (const id of ids) expect(await read(id)).toMatchObject({ status: 'processing', rows: { waiting: 1 } });
  await endRecovery(service.deps.db);
  await workOff();
  expect([await read(ids[0] ?? ''), await read(ids[1] ?? '')]).toMatchObject([
    { status: 'completed' },
    { status: 'paused' },
  ]);
});

test('a revoked key stops the rest of its batches, which no other key resumes', async () => {
  const key = await service.newKey();
  const id = await created(await rowsOf(60), { key: key.plaintext });
  await advanceOneBatch(service.deps);
  await revokeApiKey(service.deps, { keyId: key.id, actor: 'test' });
  await workOff();
  expect(await read(id)).toMatchObject({
    ...{ status: 'paused', pauseReason: 'requester_ended' },
    rows: { waiting: 10, created: 50 },
  });
  const { status, body } = await service.call('POST', `/v1/refund-batches/${id}/resume`);
  expect([status, body.error.code]).toEqual([403, 'insufficient_scope']);
});

test('a key that is revoked during a slice begins no further row of it', async () => {
  const key = await service.newKey();
  const id = await created(await rowsOf(50), { key: key.plaintext });
  const { statements } = service.deps;
  const create = statements.create;
  vi.spyOn(statements, 'create').mockImplementationOnce(async (item) => {
    await revokeApiKey(service.deps, { keyId: key.id, actor: 'test' });
    return await create(item);
  });
  await advanceOneBatch(service.deps);
  vi.restoreAllMocks();
  // Eight rows are begun at once.
  expect((await read(id)).rows.created).toBeLessThan(20);
  await workOff();
  expect(await read(id)).toMatchObject({ status: 'paused', pauseReason: 'requester_ended' });
});

test.each([
  [
    'its key is revoked',
    'requester_ended',
    (_id: string, key: string) => revokeApiKey(service.deps, { keyId: key, actor: 'test' }),
  ],
  ['someone pauses it', 'requested', (id: string) => service.call('POST', `/v1/refund-batches/${id}/pause`)],
])(
  'a row whose refund a killed worker could not record does not wait once %s',
  async (_case, pauseReason, stop) => {
    const key = await service.newKey();
    const id = await created(await rowsOf(60), { key: key.plaintext });
    const { db } = service.deps;
    const dying = vi.spyOn(db, '$executeRaw').mockRejectedValueOnce(new Error('killed'));
    await expect(advanceOneBatch(service.deps)).rejects.toThrow('killed');
    dying.mockRestore();
    await stop(id, key.id);
    await workOff();
    expect(await read(id), 'until its lease ends').toMatchObject({
      status: 'processing',
      rows: { waiting: 60 },
    });
    await db.$executeRaw`UPDATE refund_batch SET due_at = service_time() WHERE id = ${id}`;
    await workOff();
    // Whoever sends the rows that wait again refunds none twice.
    expect(await read(id)).toMatchObject({
      status: 'paused',
      pauseReason,
      rows: { waiting: 10, created: 50 },
    });
  },
);

describe('a worker that was frozen beyond its lease', () => {
  /** Works on a slice of one row, and is frozen before it stores the refund, while something else happens. */
  const advanceFrozen = async (meanwhile: () => Promise<unknown>) => {
    const { lookups } = service.deps;
    const payment = lookups.payment;
    vi.spyOn(lookups, 'payment').mockImplementationOnce(async (...asked) => {
      await meanwhile();
      const resumedAt = performance.now() + 60_000;
      vi.spyOn(performance, 'now').mockImplementation(() => resumedAt);
      return await payment(...asked);
    });
    await advanceOneBatch(service.deps);
    vi.restoreAllMocks();
  };

  test('creates no refund of a batch that was paused meanwhile', async () => {
    const [row] = await rowsOf(1);
    const id = await created([row]);
    await advanceFrozen(async () => {
      await service.call('POST', `/v1/refund-batches/${id}/pause`);
      await service.deps.db.$executeRaw`UPDATE refund_batch SET due_at = service_time() WHERE id = ${id}`;
      await workOff();
      expect(await read(id)).toMatchObject({ status: 'paused', rows: { waiting: 1 } });
    });
    expect(await refundsOf(row?.transactionId ?? '')).toEqual([]);
    expect(await read(id)).toMatchObject({ status: 'paused', rows: { waiting: 1 } });
  });

  test('leaves the lease of another worker', async () => {
    const id = await created(await rowsOf(1));
    const dueAt = new Date(Date.now() + 55_000);
    await advanceFrozen(() => service.deps.db.refundBatch.update({ where: { id }, data: { dueAt } }));
    expect(await service.deps.db.refundBatch.findUnique({ where: { id } })).toMatchObject({ dueAt });
  });
});

test('a row waits while its processor is down, and rows behind it go on', async () => {
  const [down, fine] = await rowsOf(2);
  const id = await created([down, fine]);
  vi.spyOn(service.deps.statements, 'create').mockRejectedValueOnce(
    new ServiceError('service_unavailable', 'The processor does not answer.'),
  );
  await advanceOneBatch(service.deps);
  const [waiting, ...others] = (await results(id)).toSorted((a: { state: string }, b: { state: string }) =>
    b.state.localeCompare(a.state),
  );
  expect(waiting).toMatchObject({ state: 'waiting', errorCode: 'service_unavailable' });
  expect(others).toMatchObject([{ state: 'created' }]);
  await workOff();
  expect(await read(id)).toMatchObject({ status: 'completed', rows: { created: 2 } });
});

test('at most 20 batches of a requester are open at a time', async () => {
  const other = await service.addOrganization('Many');
  const key = other.keys.test.plaintext;
  const rows = [{ transactionId: 'ch_1', amount: 1, reason: 'other' }];
  for (let count = 0; count < 20; count += 1) await created(rows, { key });
  const { status, body, headers } = await create(rows, { key });
  expect([status, body.error.code, headers['retry-after']]).toEqual([429, 'rate_limited', '60']);
});
