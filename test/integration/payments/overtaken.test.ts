import { randomUUID } from 'node:crypto';
import { afterEach, expect, test } from 'vitest';
import type { QueueWorker } from '#shared/platform/queues.ts';
import { PROCESSORS, type ProcessorName } from '../../sandbox/processors.ts';
import { advanceRefund } from '../../support/refunds/advance-refund.ts';
import { expectInvariants } from '../../support/refunds/invariants.ts';
import { askForRefund, newRefund } from '../../support/refunds/new-refund.ts';
import { newPayment } from '../../support/refunds/payments.ts';
import { refundDirectly } from '../../support/refunds/refund-directly.ts';
import { untilChange, untilVerdict } from '../../support/service.ts';
import { useService } from '../../support/use-service.ts';

// All that is left of a payment of 100.00 is requested, and overtaken by refunds elsewhere that no webhook reports.
const service = useService({ workers: 0, settings: untilVerdict });
let worker: QueueWorker | null = null;

afterEach(async () => {
  await worker?.close();
  worker = null;
  await expectInvariants(service);
});

/** A payment that was just read, of which 5.00 were refunded here, and so much elsewhere since. */
async function overtakenPayment(processor: ProcessorName, amount: number): Promise<string> {
  const transactionId = await newPayment(service, { processor });
  const { id } = await newRefund(service, { transactionId, processor, amount: 500 });
  await advanceRefund(service.deps, id);
  await refundDirectly(service, { processor, transactionId, amount });
  return transactionId;
}

const waiting = { headers: untilChange };
const remaining = { amount: undefined, remaining: true };
const rowsOf = (transactionId: string) =>
  service.deps.db.refund.findMany({ where: { transactionId }, orderBy: { createdAt: 'asc' }, skip: 1 });

test.each(PROCESSORS.flatMap((processor) => [true, false].map((hasKey) => [processor, hasKey] as const)))(
  'what was left is decided about again once it is rejected (%s, with a key: %s)',
  async (processor, hasKey) => {
    const transactionId = await overtakenPayment(processor, 6_000);
    worker = service.startWorker();
    const headers = { ...waiting.headers, ...(hasKey && { 'idempotency-key': randomUUID() }) };
    const create = () => askForRefund(service, { transactionId, processor, ...remaining }, { headers });
    const { status, body } = await create();
    expect([status, body.data?.amount], JSON.stringify(body)).toEqual([200, 3_500]);
    const made = [
      { amount: 9_500n, status: 'failed' },
      { amount: 3_500n, id: body.data.id },
    ];
    expect(await rowsOf(transactionId)).toMatchObject(made);
    if (!hasKey) return;
    const again = await create();
    expect([again.status, again.body.data.id]).toEqual([200, body.data.id]);
    expect(again.headers['idempotent-replayed']).toBe('true');
    expect(await rowsOf(transactionId)).toMatchObject(made);
  },
);

test('with nothing left, the answer says so, and the key gets the same', async () => {
  const transactionId = await overtakenPayment('stripe', 9_500);
  worker = service.startWorker();
  const headers = { ...waiting.headers, 'idempotency-key': randomUUID() };
  for (const _again of [1, 2]) {
    const { status, body } = await askForRefund(service, { transactionId, ...remaining }, { headers });
    expect([status, body.error?.code]).toEqual([409, 'refund_already_processed']);
  }
  expect(await rowsOf(transactionId)).toMatchObject([{ amount: 9_500n, status: 'failed' }]);
});

test('a key whose refund was rejected later is decided about again once, and then answers the same', async () => {
  const transactionId = await overtakenPayment('stripe', 6_000);
  const headers = { 'idempotency-key': randomUUID() };
  const create = (more = {}) => askForRefund(service, { transactionId, ...remaining, ...more }, { headers });
  const amounts: number[] = [];
  for (const elsewhere of [1_000, 500]) {
    const { status, body, headers: sent } = await create();
    expect([status, sent['idempotent-replayed']], JSON.stringify(body)).toEqual([200, undefined]);
    amounts.push(body.data.amount);
    await refundDirectly(service, { processor: 'stripe', transactionId, amount: elsewhere });
    await advanceRefund(service.deps, body.data.id);
    const dryRun = await create({ dryRun: true });
    expect(dryRun.body.data.wouldCreate).toBe(amounts.length === 1);
  }
  expect(amounts).toEqual([9_500, 2_500]);
  const rows = await rowsOf(transactionId);
  expect(rows).toMatchObject([{ failureCode: 'amount_too_large' }, { failureCode: 'amount_too_large' }]);
  for (const _again of [1, 2]) {
    const { status, body, headers: sent } = await create();
    expect([status, body.error?.code]).toEqual([400, 'validation_error']);
    expect(body.error.message).toMatch(
      /^remaining: the payment was refunded elsewhere .* new Idempotency-Key/,
    );
    expect([sent['idempotent-replayed'], sent.location]).toEqual(['true', `/v1/refunds/${rows[1]?.id}`]);
  }
  expect((await create({ reason: 'wrong_product' })).status).toBe(422);
  expect(await rowsOf(transactionId)).toHaveLength(2);
});
