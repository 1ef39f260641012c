import { describe, expect, test, vi } from 'vitest';
import { revokeApiKey } from '#shared/organizations/api-keys.ts';
import { endRecovery, requireRecovery } from '#shared/refunds/lifecycle/recovery.ts';
import { HeldTime } from '../../support/clocks.ts';
import { advanceOneBatch } from '../../support/refunds/advance-one-batch.ts';
import { useBatches } from '../../support/refunds/use-batches.ts';

// Batches that are paused, that lose their requester, or whose worker is frozen or dies before they stop.

const { service, rowsOf, created, read, refundsOf, workOff } = useBatches();

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
  let revoked: Promise<unknown> | undefined;
  vi.spyOn(statements, 'create').mockImplementation(async (item) => {
    revoked ??= revokeApiKey(service.deps, { keyId: key.id, actor: 'test' });
    await revoked;
    return await create(item);
  });
  await advanceOneBatch(service.deps);
  vi.restoreAllMocks();
  // Eight rows are begun at once.
  expect((await read(id)).rows.created).toBeLessThanOrEqual(8);
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
