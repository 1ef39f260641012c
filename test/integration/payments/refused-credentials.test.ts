import { beforeEach, describe, expect, test } from 'vitest';
import { findAccount } from '#shared/processors/accounts/account.ts';
import { setProcessorAccount } from '#shared/processors/accounts/manage-accounts.ts';
import { sandboxCredentials } from '../../sandbox/processors.ts';
import { advanceRefund } from '../../support/refunds/advance-refund.ts';
import { askForRefund, newRefund } from '../../support/refunds/new-refund.ts';
import { newPayment } from '../../support/refunds/payments.ts';
import { rowOf } from '../../support/refunds/refund-records.ts';
import { storePolicies } from '../../support/refunds/stored-policies.ts';
import type { ApiAnswer } from '../../support/service.ts';
import { useService } from '../../support/use-service.ts';

// Only tests advance refunds.
const service = useService({ workers: 0 });

const account = () =>
  ({ organizationId: service.organization.id, environment: 'test', processor: 'stripe' }) as const;

async function setKey(secretKey: string): Promise<void> {
  const { apiBase } = sandboxCredentials('test', service.sandboxUrl).stripe;
  const credentials = { secretKey, apiBase };
  await setProcessorAccount(service.deps, { ...account(), credentials, actor: 'test' });
}

/** As for a key of the encryption that is gone. */
async function spoilStored(): Promise<void> {
  const { id } = await findAccount(service.deps.db, account());
  await service.deps.db.$executeRaw`
    UPDATE processor_account SET encrypted_credentials = '\\x00', updated_at = service_time() WHERE id = ${id}`;
}

async function setWorkedAt(workedAt: Date | null): Promise<void> {
  await service.deps.db.processorAccount.updateMany({ where: account(), data: { workedAt } });
}

function expectRetryable({ status, headers, body }: ApiAnswer): void {
  expect([status, body.error?.code]).toEqual([503, 'service_unavailable']);
  expect(Number(headers['retry-after'])).toBeGreaterThan(0);
}

beforeEach(async () => {
  await setKey('sk_test_sandbox');
  await storePolicies(service, {});
});

describe.each([
  ['refused', () => setKey('sk_test_invalid')],
  ['unreadable', spoilStored],
])('while an account has %s credentials', (_what, spoil) => {
  const create = async (body: Parameters<typeof askForRefund>[1] = {}) => await askForRefund(service, body);

  test('that have worked, a refund of an unknown payment is accepted, and sent with new ones', async () => {
    await spoil();
    await setWorkedAt(new Date());
    const answer = await create();
    expect([answer.status, answer.body.data?.status]).toEqual([200, 'processing']);
    const { id, transactionId } = answer.body.data;
    await advanceRefund(service.deps, id);
    expect((await rowOf(service, id)).flagReason).toBe('account_unusable');
    expect(await service.sandbox.refunds({ transactionId })).toEqual([]);
    await setKey('sk_test_sandbox');
    await advanceRefund(service.deps, id);
    expect(await service.sandbox.refunds({ transactionId })).toHaveLength(1);
    expect(await rowOf(service, id)).toMatchObject({ flagReason: null, attemptNumber: 1 });
  });

  test('that have worked, what depends on an unknown payment is refused for now', async () => {
    await spoil();
    await setWorkedAt(new Date());
    const transactionId = await newPayment(service);
    expectRetryable(await create({ transactionId, amount: undefined, remaining: true }));
    expectRetryable(await service.call('POST', '/v1/policies/check', { body: { transactionId } }));
    expectRetryable(await service.call('GET', `/v1/payments/${transactionId}`));
    await storePolicies(service, { enforce: { api: true } });
    expectRetryable(await create({ transactionId }));
    expect(await service.deps.db.refund.count({ where: { transactionId } })).toBe(0);
  });

  test('that have never worked, a refund of an unknown payment is refused for now', async () => {
    await spoil();
    await setWorkedAt(null);
    const transactionId = await newPayment(service);
    expectRetryable(await create({ transactionId }));
    expect(await service.deps.db.refund.count({ where: { transactionId } })).toBe(0);
  });

  test('a payment that was read before is judged by what was read', async () => {
    const { transactionId } = await newRefund(service);
    await service.deps.db.payment.updateMany({
      where: { names: { some: { name: transactionId } } },
      data: { fetchedAt: new Date(0) },
    });
    await spoil();
    const { status, body } = await create({ transactionId, amount: 9_001 });
    expect([status, body.error?.code]).toEqual([400, 'validation_error']);
    expect((await create({ transactionId, amount: 9_000 })).status).toBe(200);
  });
});
