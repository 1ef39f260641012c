import { beforeEach, expect, test } from 'vitest';
import { setProcessorAccount } from '#shared/processors/accounts/manage-accounts.ts';
import { sandboxCredentials } from '../../sandbox/processors.ts';
import { auditOf } from '../../support/audit-log.ts';
import { adminCliOf, onlyLine } from '../../support/processes/admin-cli.ts';
import { newPayment } from '../../support/refunds/payments.ts';
import { useService } from '../../support/use-service.ts';

const service = useService();
const admin = adminCliOf(service);

const check = (processor: string, ...more: string[]) =>
  admin([
    ...['account', 'check', '--organization', service.organization.id],
    ...['--environment', 'test', '--processor', processor, ...more],
  ]);

const use = (processor: 'stripe' | 'braintree', credentials: object) =>
  setProcessorAccount(service.deps, {
    ...{ organizationId: service.organization.id, environment: 'test', processor, actor: 'test' },
    credentials,
  });

/** The cells of each line of a table, by the first one. */
const table = (stdout: string): Record<string, string[]> =>
  Object.fromEntries(
    stdout
      .trimEnd()
      .split('\n')
      .map((line) => line.split(/ {2,}/))
      .map(([name, ...cells]) => [name, cells]),
  );

beforeEach(async () => {
  for (const processor of ['stripe', 'braintree'] as const)
    await use(processor, sandboxCredentials('test', service.sandboxUrl)[processor]);
});

test.each(['stripe', 'braintree'])(
  'says that every ability of %s works, and moves nothing',
  async (processor) => {
    const { code, stdout, stderr } = await check(processor);
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    const probed = ['readPayments', 'disputes', 'list', 'refund', 'cancel'];
    const shown = table(stdout);
    for (const ability of probed) expect(shown[ability]?.[0], ability).toBe('works');
    expect(shown.webhooks).toEqual([
      'unknown',
      '-',
      'No webhook has been verified with these credentials yet.',
    ]);
    const account = await service.deps.db.processorAccount.findFirstOrThrow({
      where: { organizationId: service.organization.id, environment: 'test', processor },
    });
    expect(Object.keys(account.abilities as object).toSorted()).toEqual(probed.toSorted());
    const detail = { environment: 'test', processor, result: 'works', refused: [] };
    expect((await auditOf(service, account.id)).at(-1)).toMatchObject({ action: 'account.tested', detail });
    expect(await service.sandbox.refunds({ processor })).toEqual([]);
  },
);

test.each([
  ['charge_read', { readPayments: 'rak_charge_read' }],
  ['payment_intent_read', { readPayments: 'rak_payment_intent_read' }],
  ['charge_read_payment_intent_read', { readPayments: 'rak_charge_read, rak_payment_intent_read' }],
  ['dispute_read', { disputes: 'rak_dispute_read' }],
  ['refund_write', { refund: 'rak_refund_write', cancel: 'rak_refund_write' }],
  ['refund_read', { list: 'rak_refund_read', refund: 'rak_refund_write', cancel: 'rak_refund_write' }],
])('names what a key without %s may not do, and the permission', async (permissions, missing) => {
  const secretKey = `rk_test_without_${permissions}`;
  await use('stripe', { secretKey, webhookSecret: 'whsec_abc', apiBase: service.sandboxUrl });
  const { code, stdout } = await check('stripe');
  expect(code).toBe(1);
  const refused = Object.entries(table(stdout)).filter(([, [state]]) => state === 'refused');
  expect(Object.fromEntries(refused.map(([ability, [, permission]]) => [ability, permission]))).toEqual(
    missing,
  );
  for (const [, [, , words]] of refused) expect(words).toContain('does not have the required permissions');
});

test('distinguishes a key that is wrong, one that may do nothing, and a processor that does not answer', async () => {
  await use('stripe', { secretKey: 'sk_test_invalid', apiBase: service.sandboxUrl });
  expect(await check('stripe')).toMatchObject({
    code: 1,
    stderr: expect.stringContaining('Stripe refuses the credentials: Invalid API Key'),
  });
  await use('stripe', { secretKey: 'rk_test_nothing', apiBase: service.sandboxUrl });
  expect((await check('stripe')).stderr).toContain('Stripe refuses the credentials: The provided key');
  await use('stripe', { secretKey: 'sk_test_abc', apiBase: 'http://127.0.0.1:1' });
  const silent = await check('stripe');
  expect(silent).toMatchObject({ code: 1, stderr: expect.stringContaining('ECONNREFUSED') });
  expect(table(silent.stdout).refund?.[0]).toBe('unknown');
});

test('reads a payment, and says what of it could be refunded', async () => {
  const transactionId = await newPayment(service, { amount: 5_000 });
  const { code, stdout } = await check('stripe', '--payment', transactionId);
  expect(code).toBe(0);
  const shown = table(stdout);
  expect(shown.payment?.[0]).toContain(transactionId);
  expect(shown).toMatchObject({ amount: ['50.00 USD'], refunded: ['0.00 USD'], refundable: ['50.00 USD'] });
  expect(await service.sandbox.refunds({ processor: 'stripe', transactionId })).toEqual([]);
  const missing = await check('stripe', '--payment', 'ch_missing');
  expect(missing).toMatchObject({ code: 1, stderr: expect.stringContaining('ch_missing cannot be read') });
});

test('refunds the smallest amount of a payment in the test environment alone, and says what moved', async () => {
  const transactionId = await newPayment(service, { amount: 5_000 });
  const { code, stdout } = await check('stripe', '--payment', transactionId, '--refund');
  expect(code).toBe(0);
  expect(table(stdout)).toMatchObject({ moved: ['0.01 USD'], status: ['completed'] });
  const moved = await service.sandbox.refunds({ processor: 'stripe', transactionId });
  expect(moved).toMatchObject([{ amount: 1, key: expect.stringMatching(/^ref_/) }]);
  const live = await admin([
    ...['account', 'check', '--organization', service.organization.id, '--environment', 'live'],
    ...['--processor', 'stripe', '--payment', transactionId, '--refund'],
  ]);
  expect(live.code).toBe(1);
  expect(onlyLine(live.stderr)).toBe('--refund would move real money. Use the test environment.');
});

test('refunds with the account that is named', async () => {
  const place = {
    organizationId: service.organization.id,
    environment: 'test',
    processor: 'stripe',
  } as const;
  const credentials = sandboxCredentials('test', service.sandboxUrl).stripe;
  const named = { ...place, name: 'shop-eu', credentials, actor: 'test' };
  const { id } = await setProcessorAccount(service.deps, named);
  const transactionId = await newPayment(service, { amount: 5_000 });
  const { code } = await check('stripe', '--name', 'shop-eu', '--payment', transactionId, '--refund');
  expect(code).toBe(0);
  expect(await service.deps.db.refund.count({ where: { accountId: id } })).toBe(1);
});
