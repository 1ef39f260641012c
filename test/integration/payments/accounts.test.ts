import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { setProcessorAccount } from '#shared/processors/accounts/manage-accounts.ts';
import { type SandboxControl, sandboxControl } from '../../sandbox/clients.ts';
import { sandboxCredentials } from '../../sandbox/processors.ts';
import { type RunningSandbox, startSandbox } from '../../sandbox/server.ts';
import { advanceRefund } from '../../support/refunds/advance-refund.ts';
import { askForRefund, newRefund } from '../../support/refunds/new-refund.ts';
import { newPayment } from '../../support/refunds/payments.ts';
import { rowOf } from '../../support/refunds/refund-records.ts';
import { useService } from '../../support/use-service.ts';

// A second account at Stripe, at a sandbox of its own, so that each account has payments that the other one does not.
const service = useService({ workers: 0 });
let elsewhere: RunningSandbox;
let second: SandboxControl;
let secondId: string;

const setSecond = (name: string, apiBase: string, secretKey = 'sk_test_sandbox') => {
  const credentials = { ...sandboxCredentials('test', apiBase).stripe, secretKey };
  const place = {
    organizationId: service.organization.id,
    environment: 'test',
    processor: 'stripe',
    name,
  } as const;
  return setProcessorAccount(service.deps, { ...place, credentials, actor: 'test' });
};

beforeAll(async () => {
  elsewhere = await startSandbox({ port: 0 });
  second = sandboxControl(elsewhere.url);
  ({ id: secondId } = await setSecond('shop-eu', elsewhere.url));
});
afterAll(() => elsewhere.close());
afterEach(async () => {
  await service.sandbox.clearFaults();
  await second.clearFaults();
});

let count = 0;

/** Lets a sandbox know nothing of a payment, which it would take for a new one. */
const lacks = (control: SandboxControl, transactionId: string) =>
  control.fault({
    ...{ processor: 'stripe', operation: 'transaction.get', kind: 'error', times: null },
    ...{ transactionId, error: missing },
  });
const missing = { status: 404, code: 'resource_missing', message: 'No such charge' };

/** A payment that the other account does not have. */
async function paymentOfSecond(): Promise<string> {
  count += 1;
  const id = `ch_second${count}`;
  await lacks(service.sandbox, id);
  return await second.transaction({ processor: 'stripe', id, amount: 10_000, currency: 'usd' });
}

/** A payment that only the first account has. */
async function paymentOfFirst(): Promise<string> {
  const id = await newPayment(service);
  await lacks(second, id);
  return id;
}

const first = () => service.organization.accounts.test.stripe;

test.each([
  ['its id', () => secondId],
  ['its name', () => 'shop-eu'],
])('a refund is sent with the account that the request names by %s', async (_what, account) => {
  const { id } = await newRefund(service, { transactionId: await paymentOfSecond(), account: account() });
  await advanceRefund(service.deps, id);
  const { accountId, externalRefundId, transactionId } = await rowOf(service, id);
  expect(accountId).toBe(secondId);
  expect(await second.refunds({ transactionId })).toMatchObject([{ id: externalRefundId, key: id }]);
  expect(await service.sandbox.refunds({ transactionId })).toEqual([]);
});

test('without a name each account is asked, the one that has the payment is remembered, and nothing is asked again', async () => {
  const transactionId = await paymentOfSecond();
  const { id } = await newRefund(service, { transactionId });
  expect((await rowOf(service, id)).accountId).toBe(secondId);
  const unreachable = { processor: 'stripe', operation: 'transaction.get', kind: 'error-503', times: null };
  await service.sandbox.fault(unreachable);
  await second.fault(unreachable);
  const again = await newRefund(service, { transactionId });
  expect((await rowOf(service, again.id)).accountId).toBe(secondId);
});

test('a payment that two accounts have needs the account, which the error asks for', async () => {
  const transactionId = await newPayment(service);
  const { status, body } = await askForRefund(service, { transactionId });
  expect([status, body.error.code]).toEqual([400, 'validation_error']);
  expect(body.error.message).toBe(
    'account: is required, because stripe and shop-eu (stripe) have this payment. Pass the ID or the name of one.',
  );
  const { id } = await newRefund(service, { transactionId, account: 'stripe' });
  expect((await rowOf(service, id)).accountId).toBe(first());
});

describe('while an account does not answer', () => {
  const outage = { processor: 'stripe', operation: 'transaction.get', kind: 'error-503', times: null };

  test('a payment that another one has is accepted, because Stripe gives an id to one account', async () => {
    const transactionId = await newPayment(service);
    await second.fault(outage);
    const { id } = await newRefund(service, { transactionId });
    expect((await rowOf(service, id)).accountId).toBe(first());
  });

  test('a payment that the others do not have is accepted for that account, and verified before it is sent', async () => {
    const transactionId = await paymentOfFirst();
    await service.sandbox.fault(outage);
    const { id } = await newRefund(service, { transactionId });
    expect(await rowOf(service, id)).toMatchObject({ accountId: first(), status: 'processing' });
    await service.sandbox.clearFaults();
    for (let step = 0; step < 2; step += 1) await advanceRefund(service.deps, id);
    expect(await service.sandbox.refunds({ transactionId })).toMatchObject([{ key: id }]);
  });

  test('naming it by mistake does not hide the account that has the payment', async () => {
    const transactionId = await paymentOfSecond();
    await service.sandbox.clearFaults();
    await service.sandbox.fault(outage);
    const { id } = await newRefund(service, { transactionId, account: 'stripe' });
    await service.sandbox.clearFaults();
    await lacks(service.sandbox, transactionId);
    await advanceRefund(service.deps, id);
    expect((await rowOf(service, id)).status).toBe('failed');
    const right = await newRefund(service, { transactionId });
    expect((await rowOf(service, right.id)).accountId).toBe(secondId);
  });

  test('a payment that two silent accounts may have is refused for now, and nothing is stored', async () => {
    await service.sandbox.fault(outage);
    await second.fault(outage);
    const transactionId = await newPayment(service);
    const { status, body, headers } = await askForRefund(service, { transactionId });
    expect([status, body.error.code]).toEqual([503, 'service_unavailable']);
    expect(Number(headers['retry-after'])).toBeGreaterThan(0);
    expect(await service.deps.db.refund.count({ where: { transactionId } })).toBe(0);
  });
});

test('an account that is unknown, of another organization or of the other environment gets the same answer', async () => {
  const transactionId = await newPayment(service);
  const other = await service.addOrganization('Other');
  const unknown = 'acc_01kahw0c2qfz9vj3m8d6t5r4ye';
  const answers = [
    unknown,
    'nowhere',
    other.accounts.test.stripe,
    service.organization.accounts.live.stripe,
  ].map(async (account) => {
    const asked = await askForRefund(service, { transactionId, account });
    const viewed = await service.call('GET', `/v1/payments/${transactionId}?account=${account}`);
    const checked = await service.call('POST', '/v1/policies/check', { body: { transactionId, account } });
    const listed = await service.call('GET', `/v1/refunds?account=${account}`);
    expect([listed.status, listed.body.data]).toEqual([200, []]);
    return [asked, viewed, checked].map(({ status, body }) => [status, body.error?.message]);
  });
  const refused = [400, 'account: no account with this ID or name is set up in the test environment.'];
  for (const answer of await Promise.all(answers)) expect(answer).toEqual(Array(3).fill(refused));
});

test('a payment of one account is unknown under another', async () => {
  const transactionId = await paymentOfFirst();
  const { status, body } = await askForRefund(service, { transactionId, account: 'shop-eu' });
  expect([status, body.error.code]).toEqual([502, 'processor_error']);
});

test('a row of a batch, a policy check, a payment and a list take the account', async () => {
  const transactionId = await newPayment(service);
  const { id } = await newRefund(service, { transactionId, account: 'shop-eu' });
  await newRefund(service, { transactionId, account: 'stripe' });
  const listed = await service.call(
    'GET',
    `/v1/refunds?account=shop-eu&transactionId=${transactionId}&include=account`,
  );
  expect(listed.body.data).toMatchObject([
    { id, account: { id: secondId, name: 'shop-eu', connectedAccount: null } },
  ]);
  const { status } = await service.call('GET', `/v1/payments/${transactionId}?account=shop-eu`);
  expect(status).toBe(200);
  const check = { transactionId, account: 'shop-eu' };
  expect((await service.call('POST', '/v1/policies/check', { body: check })).body.data.eligible).toBe(true);
  const rows = [{ transactionId, amount: 1, reason: 'other', account: 'nowhere' }];
  const batch = await service.call('POST', '/v1/refund-batches', { body: { rows } });
  expect(batch.status).toBe(200);
});

test('new credentials without a name are those of the default account', async () => {
  const { stripe: credentials } = sandboxCredentials('test', service.sandboxUrl);
  const place = {
    organizationId: service.organization.id,
    environment: 'test',
    processor: 'stripe',
  } as const;
  const { id } = await setProcessorAccount(service.deps, { ...place, credentials, actor: 'test' });
  expect(id).toBe(first());
});

test('the list of accounts has names and abilities, and no credentials', async () => {
  const { status, body } = await service.call('GET', '/v1/accounts');
  expect(status).toBe(200);
  expect(
    body.data.map(({ name, processor }: { name: string; processor: string }) => [name, processor]),
  ).toEqual([
    ['braintree', 'braintree'],
    ['stripe', 'stripe'],
    ['shop-eu', 'stripe'],
  ]);
  expect(Object.keys(body.data[0])).toEqual(['id', 'name', 'processor', 'connectedAccount', 'abilities']);
  expect(JSON.stringify(body)).not.toMatch(/sk_test|whsec|credential/i);
});
