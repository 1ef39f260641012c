import { describe, expect, test } from 'vitest';
import { PROCESSORS, type ProcessorName, sandboxCredentials } from '#test/sandbox/processors.ts';
import { adminCliOf, onlyLine } from '../../support/processes/admin-cli.ts';
import { newRefund } from '../../support/refunds/new-refund.ts';
import { newPayment } from '../../support/refunds/payments.ts';
import { useService } from '../../support/use-service.ts';

const service = useService({ workers: 0 });
const admin = adminCliOf(service);

const credentialsOf = (processor: ProcessorName, account: string) =>
  sandboxCredentials('test', service.sandboxUrl, account)[processor];

const set = async (processor: ProcessorName, name: string, credentials: object, ...more: string[]) => {
  const place = ['--organization', service.organization.id, '--environment', 'test'];
  const account = [...place, '--processor', processor, '--name', name];
  return await admin(['account', 'set', ...account, ...more], JSON.stringify(credentials));
};

const named = async (name: string, processor: ProcessorName = 'stripe') =>
  await service.deps.db.processorAccount.findFirst({
    where: { organizationId: service.organization.id, processor, name },
  });

describe('a second name for an account of a processor', () => {
  test.each(PROCESSORS)('is refused at %s with the first one, also with another key', async (processor) => {
    expect((await set(processor, 'shop-eu', credentialsOf(processor, 'eu'))).code).toBe(0);
    const another =
      processor === 'stripe'
        ? { secretKey: 'sk_test_another_at_eu' }
        : { publicKey: 'another', privateKey: 'key' };
    const same = { ...credentialsOf(processor, 'eu'), ...another };
    const refused = await set(processor, 'shop-2', same, '--force');
    expect([refused.code, await named('shop-2', processor)]).toEqual([1, null]);
    expect(onlyLine(refused.stderr)).toContain('which is the account shop-eu already');
    expect((await set(processor, 'shop-eu', same)).code, 'the same account under its own name').toBe(0);
  });

  test('is refused when it is connected to another one of the organization', async () => {
    const connectedAccount = 'acct_sandbox_seller';
    const transactionId = await newPayment(service, { connectedAccount });
    await newRefund(service, { transactionId, connectedAccount });
    const refused = await set('stripe', 'seller', credentialsOf('stripe', 'seller'));
    expect([refused.code, await named('seller')]).toEqual([1, null]);
    expect(onlyLine(refused.stderr)).toContain(`which is the account stripe/${connectedAccount} already`);
  });

  test('is refused as the connected account of a refund', async () => {
    await set('stripe', 'shop-fr', credentialsOf('stripe', 'fr'));
    const body = {
      ...{ transactionId: 'ch_fr', amount: 100, reason: 'other' },
      connectedAccount: 'acct_sandbox_fr',
    };
    const { status, body: answer } = await service.call('POST', '/v1/refunds', { body });
    expect([status, answer.error.message]).toEqual([
      400,
      'connectedAccount: is the account shop-fr. Pass that as account instead.',
    ]);
  });

  test('is not noticed, and that is said, when a key may not read its own account', async () => {
    const secretKey = 'rk_test_without_accounts_kyc_basic_read_at_us';
    const restricted = { ...credentialsOf('stripe', 'us'), secretKey };
    const stored = await set('stripe', 'shop-us', restricted);
    expect(stored.code).toBe(0);
    expect(stored.stderr).toContain('Warning: Stripe did not say which account these credentials belong to');
    expect((await named('shop-us'))?.externalAccountId).toBeNull();
  });
});

test.each(PROCESSORS)(
  'credentials of another account at %s replace others only with --force',
  async (processor) => {
    await set(processor, 'shop-de', credentialsOf(processor, 'de'));
    const before = await named('shop-de', processor);
    const other = credentialsOf(processor, 'at');
    const refused = await set(processor, 'shop-de', other);
    expect(refused).toMatchObject({
      code: 1,
      stderr: expect.stringContaining(`${before?.externalAccountId}`),
    });
    expect(await named('shop-de', processor)).toEqual(before);
    expect((await set(processor, 'shop-de', other, '--force')).code).toBe(0);
    expect((await named('shop-de', processor))?.externalAccountId).not.toBe(before?.externalAccountId);
  },
);
