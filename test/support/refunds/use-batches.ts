import { afterEach, beforeAll, expect } from 'vitest';
import type { CallOptions } from '../service.ts';
import { useService } from '../use-service.ts';
import { advanceOneBatch } from './advance-one-batch.ts';
import { advanceRefund } from './advance-refund.ts';
import { expectInvariants } from './invariants.ts';
import { newPayment } from './payments.ts';

/** A service for batches of refunds. No worker runs by itself, so that a test sees every slice. */
export function useBatches() {
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

  /** Rows of a new payment each. */
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
  return { service, rowsOf, create, created, read, results, refundsOf, workOff };
}
