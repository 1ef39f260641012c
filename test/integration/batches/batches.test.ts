import { describe, expect, test, vi } from 'vitest';
import { ServiceError } from '#shared/platform/errors.ts';
import { batchTask } from '#worker/schedule/advance-batches.ts';
import { retention } from '#worker/schedule/retention.ts';
import { startSchedule } from '#worker/schedule/schedule.ts';
import { neverDue } from '../../support/looks.ts';
import { advanceOneBatch } from '../../support/refunds/advance-one-batch.ts';
import { useBatches } from '../../support/refunds/use-batches.ts';
import { waitFor } from '../../support/wait-for.ts';

const { service, rowsOf, create, created, read, results, refundsOf, workOff } = useBatches();

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
    const [valid, plain] = await rowsOf(2, { idempotencyKey: 'same' });
    const { idempotencyKey: _, ...copied } = plain as typeof plain & { idempotencyKey: string };
    const { status, body } = await create([
      valid,
      { ...valid, amount: 0 },
      { ...valid, idempotencyKey: 'other', note: 'x' },
      valid,
      { reason: 'other', amount: 1, remaining: true },
      'text',
      copied,
      { ...copied, currency: 'USD', account: 'stripe', options: {} },
    ]);
    expect([status, body.error.code]).toEqual([400, 'validation_error']);
    expect(body.error.message.split(' | ')).toEqual([
      expect.stringMatching(/^No refund was created\. Row 2: amount: must be a positive whole number/),
      'Row 3: "note": unknown field',
      'Row 4: idempotencyKey: is the same as in row 1',
      'Row 5: transactionId: is required; remaining: cannot be combined with amount',
      'Row 6: row: must be a JSON object',
      'Row 8: row: is the same as row 7; to refund both, give each an idempotencyKey of its own',
    ]);
    expect(await service.deps.db.refundBatch.count({ where: { rowCount: 8 } })).toBe(0);
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

test('of the invalid rows of a partial batch all are counted, and the first 20 are kept', async () => {
  const [valid] = await rowsOf(1);
  const invalid = Array.from({ length: 500 }, () => ({ amount: 1.5 }));
  const id = await created([...invalid, valid], { query: '?mode=partial' });
  await workOff();
  expect(await read(id)).toMatchObject({
    status: 'completed',
    rows: { total: 501, waiting: 0, created: 1, rejected: 500 },
  });
  const kept = await service.deps.db.refundBatchRow.findMany({ where: { batchId: id } });
  expect(kept.map(({ number }) => number).toSorted((a, b) => a - b)).toEqual([
    ...Array.from({ length: 20 }, (_, index) => index + 1),
    501,
  ]);
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

test('rows that are sent again without a key are the same batch, and with a key another one', async () => {
  const [row] = await rowsOf(1);
  const id = await created([row]);
  expect(await created([row])).toBe(id);
  // Not every client writes the fields in the same order each time.
  expect(await created([Object.fromEntries(Object.entries(row ?? {}).toReversed())])).toBe(id);
  await created([row], { headers: { 'idempotency-key': 'on-purpose' } });
  await workOff();
  expect(await refundsOf(row?.transactionId ?? '')).toHaveLength(2);
});

test('a batch that is resumed while old ones are deleted has all of its rows, or is gone', async () => {
  const rows = Array.from({ length: 1_100 }, (_, n) => ({
    transactionId: 'ch_1',
    amount: n + 1,
    reason: 'other',
  }));
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
  // A slice of fewer rows, on a slow machine, is followed by another one.
  const { created: begun } = (await read(id)).rows;
  expect(begun).toBeGreaterThanOrEqual(50);
  expect(begun).toBeLessThan(100);
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
  const schedule = startSchedule({ ...service.deps, looks: neverDue }, [batchTask(service.deps)]);
  await waitFor('the batch of the other to be completed', async () => {
    const { body } = await service.call('GET', `/v1/refund-batches/${id}`, { key });
    return body.data.status === 'completed';
  });
  release(new ServiceError('service_unavailable', 'The processor does not answer.'));
  await schedule.close();
  vi.restoreAllMocks();
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

test('the batches of an organization have at most 100,000 rows in a day', async () => {
  const { id: organizationId, keys } = await service.addOrganization('Large');
  const key = keys.test.plaintext;
  const rows = (amount: number) => [{ transactionId: 'ch_1', amount, reason: 'other' }];
  const id = await created(rows(1), { key });
  const { ownerDb } = service;
  await ownerDb.refundBatch.update({ where: { id }, data: { rowCount: 99_999 } });
  await created(rows(2), { key });
  const { status, body, headers } = await create(rows(3), { key });
  expect([status, body.error.code, headers['retry-after']]).toEqual([429, 'rate_limited', '3600']);
  expect(await ownerDb.refundBatch.count({ where: { organizationId } })).toBe(2);
  await ownerDb.$executeRaw`UPDATE refund_batch SET created_at = created_at - interval '1 day' WHERE id = ${id}`;
  await created(rows(3), { key });
});

test('at most 20 batches of a requester are open at a time', async () => {
  const other = await service.addOrganization('Many');
  const key = other.keys.test.plaintext;
  const rows = (amount: number) => [{ transactionId: 'ch_1', amount, reason: 'other' }];
  for (let amount = 1; amount <= 20; amount += 1) await created(rows(amount), { key });
  const { status, body, headers } = await create(rows(21), { key });
  expect([status, body.error.code, headers['retry-after']]).toEqual([429, 'rate_limited', '60']);
});
