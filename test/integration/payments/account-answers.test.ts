import { beforeAll, expect, test } from 'vitest';
import { setProcessorAccount } from '#shared/processors/accounts/manage-accounts.ts';
import { sandboxCredentials } from '../../sandbox/processors.ts';
import { rowOf } from '../../support/refunds/refund-records.ts';
import type { TestOrganization } from '../../support/service.ts';
import { useService } from '../../support/use-service.ts';

// Two accounts at Stripe, each with a connected account, and another organization with an account of its own.
const service = useService({ workers: 0 });
let other: TestOrganization;

beforeAll(async () => {
  other = await service.addOrganization('Other');
  for (const [organizationId, name, account] of [
    [service.organization.id, 'eu', 'eu'],
    [other.id, undefined, 'elsewhere'],
  ] as const) {
    const { stripe: credentials } = sandboxCredentials('test', service.sandboxUrl, account);
    const place = {
      organizationId,
      environment: 'test',
      processor: 'stripe',
      ...(name && { name }),
    } as const;
    await setProcessorAccount(service.deps, { ...place, credentials, actor: 'test' });
  }
  // So that each is connected to its own account.
  for (const owner of Object.keys(owners)) await paymentOf(owner as Owner);
});

const owners = {
  'the default account': {},
  eu: { account: 'eu' },
  'a seller': { connectedAccount: 'acct_seller' },
  'a seller of eu': { account: 'eu', connectedAccount: 'acct_euseller' },
};
type Owner = keyof typeof owners;

const paymentOf = (owner: Owner) =>
  service.sandbox.transaction({ processor: 'stripe', amount: 10_000, currency: 'usd', ...owners[owner] });

const keys = {
  'the organization': () => service.organization.keys.test.plaintext,
  'another organization': () => other.keys.test.plaintext,
};
type Asker = keyof typeof keys;

const seller = { connectedAccount: 'acct_seller' };
const sellerOfEu = { connectedAccount: 'acct_euseller' };
const unknown = '502 processor_error';
const noAccess = '400 validation_error';

test.each<[Owner, Asker, object, string]>([
  ['the default account', 'the organization', {}, 'stripe'],
  ['the default account', 'the organization', { account: 'stripe' }, 'stripe'],
  ['the default account', 'the organization', { account: 'eu' }, unknown],
  ['the default account', 'the organization', seller, unknown],
  ['the default account', 'the organization', sellerOfEu, unknown],
  ['the default account', 'the organization', { account: 'eu', ...seller }, noAccess],
  ['the default account', 'another organization', {}, unknown],
  ['the default account', 'another organization', seller, noAccess],
  ['eu', 'the organization', {}, 'eu'],
  ['eu', 'the organization', { account: 'eu' }, 'eu'],
  ['eu', 'the organization', { account: 'stripe' }, unknown],
  ['eu', 'the organization', sellerOfEu, unknown],
  ['eu', 'another organization', {}, unknown],
  ['a seller', 'the organization', {}, unknown],
  ['a seller', 'the organization', { account: 'stripe' }, unknown],
  ['a seller', 'the organization', seller, 'stripe/acct_seller'],
  ['a seller', 'the organization', { account: 'stripe', ...seller }, 'stripe/acct_seller'],
  ['a seller', 'the organization', { account: 'eu', ...seller }, noAccess],
  ['a seller', 'the organization', sellerOfEu, unknown],
  ['a seller', 'another organization', {}, unknown],
  ['a seller', 'another organization', seller, noAccess],
  ['a seller of eu', 'the organization', sellerOfEu, 'eu/acct_euseller'],
  ['a seller of eu', 'the organization', { account: 'stripe', ...sellerOfEu }, noAccess],
  ['a seller of eu', 'the organization', seller, unknown],
  ['a seller of eu', 'another organization', sellerOfEu, noAccess],
])('a payment of %s, asked for by %s with %j: %s', async (owner, asker, where, expected) => {
  const body = { transactionId: await paymentOf(owner), amount: 100, reason: 'other', ...where };
  const key = keys[asker]();
  const { status, body: answer } = await service.call('POST', '/v1/refunds', { body, key });
  if (status !== 200) {
    expect(`${status} ${answer.error.code}`, answer.error.message).toBe(expected);
    return;
  }
  const { accountId } = await rowOf(service, answer.data.id);
  const { name } = await service.deps.db.processorAccount.findUniqueOrThrow({ where: { id: accountId } });
  expect(name).toBe(expected);
});
