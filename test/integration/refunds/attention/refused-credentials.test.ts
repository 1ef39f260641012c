import { afterEach, expect, test } from 'vitest';
import { readAttention } from '#api/cli/reports/refund-attention.ts';
import { markPaymentStale } from '#shared/payments/payment.ts';
import { markMisconfigured } from '#shared/processors/accounts/connections.ts';
import { useStripeAccount } from '#test/support/processors/stripe-account.ts';
import { advanceRefund } from '#test/support/refunds/advance-refund.ts';
import {
  completedRefund,
  createdRefund,
  flaggedUnknown,
  reviewed,
  useServiceThatFlags,
} from '#test/support/refunds/flagged-refunds.ts';
import { expectInvariants } from '#test/support/refunds/invariants.ts';
import { newPayment, readPayment } from '#test/support/refunds/payments.ts';
import { rowOf } from '#test/support/refunds/refund-records.ts';

const service = useServiceThatFlags();
const stripe = useStripeAccount(service);

afterEach(() => expectInvariants(service));

test('flags what needs refused credentials at once, with the account, until new ones are set', async () => {
  const unknown = await flaggedUnknown(service, 'stripe', 'reset');
  const accepted = await createdRefund(service, 'stripe');
  await advanceRefund(service.deps, accepted.id);
  const fresh = await createdRefund(service, 'stripe');
  await stripe.setKey('sk_test_invalid');
  for (const { id } of [unknown, accepted, fresh]) {
    await service.deps.db.processorAccount.updateMany({ data: { misconfiguredAt: null } });
    const flagged = await reviewed(service, id);
    expect(flagged.flagReason).toBe('account_unusable');
    expect(await stripe.isMarked()).toBe(true);
  }
  const { accounts, refunds } = await readAttention(service.deps.db, undefined);
  const next = `account set --organization ${service.organization.id} --environment test --processor stripe`;
  expect(accounts).toMatchObject([{ next }]);
  expect(Object.keys(accounts[0]?.account ?? {})).not.toContain('encryptedCredentials');
  const ours = [unknown.id, accepted.id, fresh.id];
  const listedNext = refunds.filter(({ refund }) => ours.includes(refund.id)).map((item) => item.next);
  expect(listedNext).toEqual([next, next, next]);
  await stripe.setKey('sk_test_sandbox');
  for (const { id } of [unknown, accepted, fresh]) await advanceRefund(service.deps, id);
  for (const { id } of [unknown, accepted, fresh]) expect((await rowOf(service, id)).flaggedAt).toBeNull();
});

test('lists refused credentials also when they were only used to read payments', async () => {
  await stripe.setKey('sk_test_invalid');
  const body = { transactionId: await newPayment(service), amount: 100, reason: 'other' };
  expect((await service.call('POST', '/v1/refunds', { body })).status).toBe(502);
  expect((await readAttention(service.deps.db, undefined)).accounts).toHaveLength(1);
});

test('marks the account when a review is refused for its credentials', async () => {
  const refund = await completedRefund(service, 'stripe');
  await stripe.setKey('sk_test_invalid');
  await reviewed(service, refund.id);
  expect(await stripe.isMarked()).toBe(true);
});

test('does not mark new credentials for a refusal of the old ones', async () => {
  const old = await stripe.read();
  await stripe.setKey('sk_test_sandbox');
  await markMisconfigured(service.deps, old, { code: 'expired', message: 'expired' });
  expect(await stripe.isMarked()).toBe(false);
});

test.each(['check', 'review', 'send', 'read'] as const)(
  'clears the mark of an account after an answered %s',
  async (call) => {
    const { db } = service.deps;
    const refund =
      call === 'review' ? await completedRefund(service, 'stripe') : await createdRefund(service, 'stripe');
    if (call === 'check') await advanceRefund(service.deps, refund.id);
    if (call === 'read') await markPaymentStale(db, refund.paymentId);
    await markMisconfigured(service.deps, await stripe.read(), {
      code: 'x',
      message: 'x',
    });
    expect(await stripe.isMarked()).toBe(true);
    if (call === 'read') await readPayment(service.deps, refund);
    else if (call === 'send') await advanceRefund(service.deps, refund.id);
    else await reviewed(service, refund.id);
    expect(await stripe.isMarked()).toBe(false);
  },
);

test('keeps the mark after an unanswered or refused call', async () => {
  const { id } = await createdRefund(service, 'stripe');
  await markMisconfigured(service.deps, await stripe.read(), {
    code: 'x',
    message: 'x',
  });
  await service.sandbox.fault({ processor: 'stripe', operation: 'refund.create', kind: 'reset' });
  await advanceRefund(service.deps, id);
  expect(await stripe.isMarked()).toBe(true);
});
