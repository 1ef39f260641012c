import { afterEach, expect, test } from 'vitest';
import { readAttention } from '#api/cli/reports/refund-attention.ts';
import { markPaymentStale } from '#shared/payments/payment.ts';
import { loadAccount, markMisconfigured } from '#shared/processors/accounts/connections.ts';
import { setProcessorAccount } from '#shared/processors/accounts/manage-accounts.ts';
import { sandboxCredentials } from '#test/sandbox/processors.ts';
import { advanceRefund } from '#test/support/refunds/advance-refund.ts';
import {
  createdRefund,
  flaggedUnknown,
  reviewed,
  useServiceThatFlags,
} from '#test/support/refunds/flagged-refunds.ts';
import { expectInvariants } from '#test/support/refunds/invariants.ts';
import { readPayment } from '#test/support/refunds/payments.ts';
import { rowOf } from '#test/support/refunds/refund-records.ts';

const service = useServiceThatFlags();

const account = () =>
  ({ organizationId: service.organization.id, environment: 'test', processor: 'stripe' }) as const;
const stripe = {
  read: () => loadAccount(service.deps.db, account()),
  async setKey(secretKey: string) {
    const { apiBase } = sandboxCredentials('test', service.sandboxUrl).stripe;
    const credentials = { secretKey, apiBase };
    await setProcessorAccount(service.deps, { ...account(), credentials, actor: 'test' });
  },
  /** As for a key of the encryption that is gone. */
  async spoilStored() {
    await service.deps.db.$executeRaw`
      UPDATE processor_account SET encrypted_credentials = '\\x00', updated_at = service_time()
      WHERE id = ${(await stripe.read()).id}`;
  },
  /** Whether its credentials were refused. */
  isMarked: async () => (await stripe.read()).misconfiguredAt !== null,
};

afterEach(async () => {
  await stripe.setKey('sk_test_sandbox');
  await expectInvariants(service);
});

test.each([
  ['refused', () => stripe.setKey('sk_test_invalid')],
  ['unreadable', stripe.spoilStored],
])('flags what needs %s credentials at once, with the account, until new ones are set', async (_, spoil) => {
  const unknown = await flaggedUnknown(service, 'stripe', 'reset');
  const accepted = await createdRefund(service, 'stripe');
  await advanceRefund(service.deps, accepted.id);
  const fresh = await createdRefund(service, 'stripe');
  await spoil();
  for (const { id } of [unknown, accepted, fresh]) {
    await service.deps.db.processorAccount.updateMany({ data: { misconfiguredAt: null } });
    if (id === fresh.id) await advanceRefund(service.deps, id);
    else await reviewed(service, id);
    expect((await rowOf(service, id)).flagReason).toBe('account_unusable');
    expect(await stripe.isMarked()).toBe(true);
  }
  // Nothing was sent, so a lookup is not needed.
  const unsent = { unknownSince: null, attempts: [{ number: 1, outcome: 'misconfigured' }] };
  expect(await rowOf(service, fresh.id)).toMatchObject(unsent);
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

test('does not mark new credentials for a refusal of the old ones', async () => {
  const old = await stripe.read();
  await stripe.setKey('sk_test_sandbox');
  await markMisconfigured(service.deps, old, { code: 'expired', message: 'expired' });
  expect(await stripe.isMarked()).toBe(false);
});

test('clears the mark of an account with any answer', async () => {
  const refund = await createdRefund(service, 'stripe');
  const calls = {
    read: async () => {
      await markPaymentStale(service.deps.db, refund.paymentId);
      await readPayment(service.deps, refund);
    },
    send: () => advanceRefund(service.deps, refund.id),
    check: () => reviewed(service, refund.id),
  };
  for (const [name, call] of Object.entries(calls)) {
    await markMisconfigured(service.deps, await stripe.read(), { code: 'x', message: 'x' });
    expect(await stripe.isMarked()).toBe(true);
    await call();
    expect(await stripe.isMarked(), name).toBe(false);
  }
});
