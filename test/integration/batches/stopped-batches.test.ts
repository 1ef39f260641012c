import { describe, expect, test, vi } from 'vitest';
import { revokeApiKey } from '#shared/organizations/api-keys.ts';
import { endRecovery, requireRecovery } from '#shared/refunds/lifecycle/recovery.ts';
import { HeldTime } from '../../support/clocks.ts';
import { advanceOneBatch } from '../../support/refunds/advance-one-batch.ts';
import { useBatches } from '../../support/refunds/use-batches.ts';

// Batches that are paused, that lose their requester, or whose worker is frozen or dies before they stop.

const { service, rowsOf, created, read, results, refundsOf, workOff } = useBatches();

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

test('a batch wakes a worker as it is created and as it is resumed', async () => {
  const wake = vi.spyOn(service.deps.queues, 'wakeWorkers').mockImplementation(() => {});
  const id = await created(await rowsOf(1));
  expect(wake).toHaveBeenCalledOnce();
  await service.call('POST', `/v1/refund-batches/${id}/pause`);
  await service.call('POST', `/v1/refund-batches/${id}/resume`);
  expect(wake).toHaveBeenCalledTimes(2);
  wake.mockRestore();
  await workOff();
});

test('a paused batch is settled with one look-up, however many of its rows wait', async () => {
  const id = await created(
    Array.from({ length: 1_000 }, (_, n) => ({ transactionId: 'ch_1', amount: n + 1, reason: 'other' })),
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

test('a worker with RESTORED begins no row, and pauses no batch', async () => {
  const ids = [await created(await rowsOf(1)), await created(await rowsOf(1))];
  await service.call('POST', `/v1/refund-batches/${ids[1]}/pause`);
  const deps = { ...service.deps, settings: { ...service.settings, RESTORED: true } };
  expect(await advanceOneBatch(deps)).toBe(false);
  for (const id of ids) expect(await read(id)).toMatchObject({ status: 'processing', rows: { waiting: 1 } });
  await workOff();
});

test('the rows that a revoked key leaves are rejected, and another key sends them again, each refunded once', async () => {
  const key = await service.newKey();
  const rows = await rowsOf(60);
  const headers = { 'idempotency-key': 'recall' };
  const id = await created(rows, { key: key.plaintext, headers });
  await advanceOneBatch(service.deps);
  const { waiting } = (await read(id)).rows;
  expect(waiting).toBeGreaterThan(0);
  await revokeApiKey(service.deps, { keyId: key.id, actor: 'test' });
  await workOff();
  expect(await read(id)).toMatchObject({
    status: 'completed',
    rows: { created: 60 - waiting, rejected: waiting },
  });
  const rejected = (await results(id)).filter(({ state }: { state: string }) => state === 'rejected');
  expect(rejected).toEqual(
    Array(waiting).fill(expect.objectContaining({ refundId: null, errorCode: 'requester_ended' })),
  );
  const again = await created(rows, { headers });
  expect(again).not.toBe(id);
  await workOff();
  expect(await read(again)).toMatchObject({ status: 'completed', rows: { created: 60 } });
  for (const { transactionId } of rows) expect(await refundsOf(transactionId)).toHaveLength(1);
});

test('a paused batch whose key was revoked is resumed to reject the rows that wait', async () => {
  const key = await service.newKey();
  const id = await created(await rowsOf(1), { key: key.plaintext });
  await service.call('POST', `/v1/refund-batches/${id}/pause`);
  await workOff();
  await revokeApiKey(service.deps, { keyId: key.id, actor: 'test' });
  await service.call('POST', `/v1/refund-batches/${id}/resume`);
  await workOff();
  expect(await read(id)).toMatchObject({ status: 'completed', rows: { rejected: 1 } });
});

test('a key that is revoked during a slice begins no further row of it', async () => {
  const key = await service.newKey();
  const id = await created(await rowsOf(50), { key: key.plaintext });
  const { statements } = service.deps;
  const create = statements.create;
  let revoked: Promise<unknown> | undefined;
  vi.spyOn(statements, 'create').mockImplementation(async (item) => {
    revoked ??= revokeApiKey(service.deps, { keyId: key.id, actor: 'test' });
    await revoked;
    return await create(item);
  });
  await advanceOneBatch(service.deps);
  vi.restoreAllMocks();
  // Eight rows are begun at once.
  const { created: begun } = (await read(id)).rows;
  expect(begun).toBeLessThanOrEqual(8);
  await workOff();
  expect(await read(id)).toMatchObject({
    status: 'completed',
    rows: { created: begun, rejected: 50 - begun },
  });
});

test.each([
  [
    'its key is revoked',
    { status: 'completed', left: 'rejected' },
    (_id: string, key: string) => revokeApiKey(service.deps, { keyId: key, actor: 'test' }),
  ],
  [
    'someone pauses it',
    { status: 'paused', left: 'waiting' },
    (id: string) => service.call('POST', `/v1/refund-batches/${id}/pause`),
  ],
])(
  'a row whose refund a killed worker could not record counts as created once %s',
  async (_case, { status, left }, stop) => {
    const key = await service.newKey();
    const rows = await rowsOf(60);
    const id = await created(rows, { key: key.plaintext });
    const { db } = service.deps;
    const dying = vi.spyOn(db, '$executeRaw').mockRejectedValueOnce(new Error('killed'));
    await expect(advanceOneBatch(service.deps)).rejects.toThrow('killed');
    dying.mockRestore();
    const transactionIds = rows.map(({ transactionId }) => transactionId);
    // Of the first rows; how many depends on what the machine manages in the time of a slice.
    const begun = await db.refund.count({ where: { transactionId: { in: transactionIds } } });
    expect(begun).toBeGreaterThan(0);
    await stop(id, key.id);
    await workOff();
    expect(await read(id), 'until its lease ends').toMatchObject({
      status: 'processing',
      rows: { waiting: 60 },
    });
    await db.$executeRaw`UPDATE refund_batch SET due_at = service_time() WHERE id = ${id}`;
    await workOff();
    // Whoever sends the other rows again refunds none twice.
    expect(await read(id)).toMatchObject({ status, rows: { created: begun, [left]: 60 - begun } });
  },
);

describe('a worker that was frozen beyond its lease', () => {
  /** Works on a slice of one row, and is frozen before it stores the refund, while something else happens. */
  const advanceFrozen = async (meanwhile: () => Promise<unknown>) => {
    const { lookups } = service.deps;
    const payment = lookups.payment;
    vi.spyOn(lookups, 'payment').mockImplementationOnce(async (...asked) => {
      await meanwhile();
      return await payment(...asked);
    });
    await advanceOneBatch(service.deps);
    vi.restoreAllMocks();
  };

  test('leaves the lease of another worker', async () => {
    const id = await created(await rowsOf(1));
    const dueAt = new Date(Date.now() + 55_000);
    await advanceFrozen(() => service.deps.db.refundBatch.update({ where: { id }, data: { dueAt } }));
    expect(await service.deps.db.refundBatch.findUnique({ where: { id } })).toMatchObject({ dueAt });
  });

  test('creates no refund of a batch that was paused meanwhile', async () => {
    const [row] = await rowsOf(1);
    const id = await created([row]);
    await advanceFrozen(async () => {
      await service.call('POST', `/v1/refund-batches/${id}/pause`);
      await new HeldTime().advance(service.ownerDb, 61_000);
      await workOff();
      expect(await read(id)).toMatchObject({ status: 'paused', rows: { waiting: 1 } });
    });
    expect(await refundsOf(row?.transactionId ?? '')).toEqual([]);
    expect(await read(id)).toMatchObject({ status: 'paused', rows: { waiting: 1 } });
  });
});
