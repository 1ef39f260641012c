import { beforeEach, describe, expect, test } from 'vitest';
import type { RefundSubmission } from '#shared/processors/contract/processor.ts';
import { createRefund } from '#shared/refunds/lifecycle/create.ts';
import type { RefundRequest } from '#shared/refunds/lifecycle/decide.ts';
import { searchRefunds } from '#shared/refunds/queries/search-refunds.ts';
import { spyOnCalls } from '../../support/processors/around-calls.ts';
import { advanceRefund } from '../../support/refunds/advance-refund.ts';
import { expectInvariants } from '../../support/refunds/invariants.ts';
import { newPayment } from '../../support/refunds/payments.ts';
import { refundDirectly } from '../../support/refunds/refund-directly.ts';
import { makeDue, rowOf } from '../../support/refunds/refund-records.ts';
import { holdDecisions, refundRequest } from '../../support/refunds/refund-requests.ts';
import { storePolicies } from '../../support/refunds/stored-policies.ts';
import { outcomeOf, useTwoProcesses } from '../../support/refunds/two-processes.ts';

// Stripe knows a payment by the id of its charge and by that of its payment intent. Two processes create refunds here.
const { service, other } = useTwoProcesses();

beforeEach(() => storePolicies(service, {}));

/** A new payment of 100.00 USD, by the id of its charge and by that of its payment intent. */
async function payment(): Promise<[charge: string, intent: string]> {
  const charge = await newPayment(service);
  return [charge, `pi_${charge.slice(3)}`];
}

async function createdId(transactionId: string, more: Partial<RefundRequest> = {}): Promise<string> {
  return (await createRefund(service.deps, refundRequest(service, transactionId, more))).refund.id;
}

const check = async (transactionId: string, amount?: number) =>
  (await service.call('POST', '/v1/policies/check', { body: { transactionId, amount } })).body.data;

const dryRun = async (transactionId: string, amount: number) =>
  (
    await service.call('POST', '/v1/refunds', {
      body: { transactionId, amount, reason: 'other', dryRun: true },
    })
  ).body.data;

const named = (ids: readonly string[]) => ({ names: { some: { name: { in: [...ids] } } } });

/** The row that is stored for both ids. */
async function storedOnce(ids: readonly string[]) {
  const [stored, ...others] = await service.deps.db.payment.findMany({ where: named(ids) });
  expect(others).toEqual([]);
  return stored;
}

const cannotRead = async () =>
  await service.sandbox.fault({ processor: 'stripe', operation: '*', kind: 'error-503', times: null });

/** Makes the second id another payment, as if nothing had shown yet that they are one. */
async function separate(ids: readonly [string, string]): Promise<void> {
  const { db } = service.deps;
  const { id: _id, reserved: _reserved, ...facts } = await db.payment.findFirstOrThrow({ where: named(ids) });
  const { id } = await db.payment.create({ data: facts });
  const { count } = await db.paymentName.updateMany({ where: { name: ids[1] }, data: { paymentId: id } });
  expect(count).toBe(1);
}

const haveToBeRead = async (ids: readonly string[]) =>
  await service.deps.db.payment.updateMany({ where: named(ids), data: { fetchedAt: null } });

test.each<[what: string, first: 0 | 1, before: (ids: readonly [string, string]) => Promise<unknown>]>([
  ['that is not known, its charge first', 0, async () => {}],
  ['that is not known, its intent first', 1, async () => {}],
  ['that is known by its charge', 1, ([charge]) => check(charge)],
  ['that is known by its intent', 0, ([, intent]) => check(intent)],
])(
  'of two refunds of the whole of a payment by both ids at once one is accepted: %s',
  async (_what, first, begin) => {
    const ids = await payment();
    await begin(ids);
    holdDecisions([service.deps, other.deps], 2);
    const asked = [first, 1 - first].map((index) =>
      refundRequest(service, ids[index] ?? '', { amount: 10_000n }),
    );
    const outcomes = await Promise.all(
      asked.map((each, index) => outcomeOf(index === 0 ? service : other, each)),
    );
    expect(outcomes.toSorted()).toEqual(['processing', 'refund_already_processed']);
    expect(await storedOnce(ids)).toMatchObject({ amount: 10_000n, reserved: 10_000n });
    const { id } = await service.deps.db.refund.findFirstOrThrow({ where: { transactionId: { in: ids } } });
    await advanceRefund(service.deps, id);
    expect(await service.sandbox.refunds({ transactionId: ids[0] })).toMatchObject([{ key: id }]);
  },
);

describe.each([
  ['charge', 0],
  ['intent', 1],
] as const)('a refund by the %s', (_named, index) => {
  const otherIndex = index === 0 ? 1 : 0;

  test('that awaits approval counts for the other id, and cancelling it gives its amount back', async () => {
    await storePolicies(service, { approvalAbove: { api: 0 } });
    const ids = await payment();
    const [named, unnamed] = [ids[index], ids[otherIndex]];
    const id = await createdId(named, { amount: 7_000n });
    expect((await rowOf(service, id)).status).toBe('pending');
    for (const each of ids) {
      expect(await check(each)).toMatchObject({ maxAmount: 3_000 });
      expect(await dryRun(each, 3_001)).toMatchObject({ wouldCreate: false, maxAmount: 3_000 });
      expect(await dryRun(each, 3_000)).toMatchObject({ wouldCreate: true });
    }
    expect(await outcomeOf(service, refundRequest(service, unnamed, { amount: 3_001n }))).toBe(
      'validation_error',
    );
    expect((await service.call('POST', `/v1/refunds/${id}/cancel`)).status).toBe(200);
    expect(await storedOnce(ids)).toMatchObject({ reserved: 0n });
    expect(await check(unnamed)).toMatchObject({ maxAmount: 10_000 });
  });

  test('is not counted again as refunded outside when the payment is read by the other id', async () => {
    const ids = await payment();
    expect(await check(ids[otherIndex])).toMatchObject({ maxAmount: 10_000 });
    const id = await createdId(ids[index], { amount: 4_000n });
    await advanceRefund(service.deps, id);
    await refundDirectly(service, { processor: 'stripe', transactionId: ids[0], amount: 1_000 });
    for (const each of [ids[otherIndex], ids[index]]) {
      await haveToBeRead(ids);
      expect(await check(each)).toMatchObject({ maxAmount: 5_000 });
      expect(await storedOnce(ids)).toMatchObject({ reserved: 4_000n, refundedOutside: 1_000n });
    }
  });

  test('that the processor rejects has the payment read again, by either id', async () => {
    const ids = await payment();
    expect(await check(ids[otherIndex])).toMatchObject({ maxAmount: 10_000 });
    const id = await createdId(ids[index]);
    await refundDirectly(service, { processor: 'stripe', transactionId: ids[0], amount: 10_000 });
    await advanceRefund(service.deps, id);
    expect(await rowOf(service, id)).toMatchObject({ status: 'failed', failureCode: 'already_refunded' });
    expect(await storedOnce(ids)).toMatchObject({ fetchedAt: null });
    expect(await check(ids[otherIndex])).toMatchObject({ eligible: false, maxAmount: 0 });
  });

  test('is shown and filtered by that id, and sent by the one of its payment intent', async () => {
    const ids = await payment();
    const [named, unnamed] = [ids[index], ids[otherIndex]];
    await createdId(unnamed, { amount: 100n });
    const id = await createdId(named, { amount: 200n });
    const { body } = await service.call('GET', `/v1/refunds?transactionId=${named}`);
    expect(body.data).toMatchObject([{ id, transactionId: named }]);
    const owner = { organizationId: service.organization.id, environment: 'test' } as const;
    const search = { cursor: null, limit: 10 };
    const { refunds } = await searchRefunds(service.deps.db, owner, { q: named }, search);
    expect(refunds.map(({ transactionId }) => transactionId).toSorted()).toEqual(ids.toSorted());
    const sent: unknown[] = [];
    spyOnCalls(service, (name, call, about) => {
      if (name === 'createRefund') sent.push((about as RefundSubmission).transactionId);
      return call();
    });
    await advanceRefund(service.deps, id);
    expect(sent).toEqual([ids[1]]);
    expect(await service.sandbox.refunds({ transactionId: ids[0] })).toMatchObject([
      { key: id, amount: 200 },
    ]);
  });
});

describe('refunds that were accepted while the processor was unreachable', () => {
  const advance = async (id: string) => {
    await makeDue(service, id);
    await advanceRefund(service.deps, id);
  };

  test.each([
    ['the charge is verified first', [0, 1]],
    ['the intent is verified first', [1, 0]],
  ] as const)('by both ids share the payment: %s', async (_what, order) => {
    const ids = await payment();
    await cannotRead();
    const made: string[] = [];
    for (const transactionId of ids) made.push(await createdId(transactionId, { amount: 6_000n }));
    await service.sandbox.clearFaults();
    for (const index of order) await advance(made[index] ?? '');
    // The older one is kept.
    expect(await rowOf(service, made[0] ?? '')).toMatchObject({
      transactionId: ids[0],
      status: 'processing',
    });
    expect(await rowOf(service, made[1] ?? '')).toMatchObject({
      ...{ transactionId: ids[1], status: 'failed', failureCode: 'amount_too_large', attemptCount: 0 },
    });
    expect(await service.sandbox.refunds({ transactionId: ids[0] })).toMatchObject([{ key: made[0] }]);
    expect(await storedOnce(ids)).toMatchObject({ amount: 10_000n, reserved: 6_000n });
    expect(await check(ids[1])).toMatchObject({ maxAmount: 4_000 });
  });
});

describe('what was stored as two payments before', () => {
  test('is joined by the next read: refunds that do not fit are not sent', async () => {
    const ids = await payment();
    const [first] = [await createdId(ids[0], { amount: 6_000n })];
    await separate(ids);
    const second = await createdId(ids[1], { amount: 6_000n });
    await haveToBeRead(ids);
    expect(await check(ids[1])).toMatchObject({ maxAmount: 4_000 });
    expect(await storedOnce(ids)).toMatchObject({ reserved: 6_000n });
    for (const id of [first, second]) await advanceRefund(service.deps, id);
    expect(await rowOf(service, second)).toMatchObject({ status: 'failed', failureCode: 'amount_too_large' });
    expect(await service.sandbox.refunds({ transactionId: ids[0] })).toMatchObject([{ key: first }]);
  });

  test('is joined while its refunds are created, sent and cancelled by several processes', async () => {
    for (let round = 0; round < 4; round += 1) {
      const ids = await payment();
      const made = [await createdId(ids[0], { amount: 1_000n })];
      await separate(ids);
      made.push(await createdId(ids[1], { amount: 1_000n }), await createdId(ids[1], { amount: 1_000n }));
      await haveToBeRead(ids);
      const results = await Promise.all([
        ...ids.flatMap((id) => [check(id), check(id)]),
        ...ids.map((id) => outcomeOf(other, refundRequest(service, id))),
        ...made.slice(0, 2).map((id) => advanceRefund(other.deps, id)),
        service.call('POST', `/v1/refunds/${made[2]}/cancel`),
      ]);
      expect(results.slice(4, 6)).toEqual(['processing', 'processing']);
      await storedOnce(ids);
      await expectInvariants(service);
    }
  });
});
