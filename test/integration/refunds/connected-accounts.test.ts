import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { readHealth } from '#shared/health/read-health.ts';
import { findAccountsInTrouble } from '#shared/health/trouble.ts';
import { findRefusedAccounts } from '#shared/insights/needs-attention.ts';
import { readOccasions } from '#shared/notifications/occasions.ts';
import { newId } from '#shared/platform/ids.ts';
import { requestDigestOf } from '#shared/platform/secrets/request-digest.ts';
import { loadAccount } from '#shared/processors/accounts/account.ts';
import { setCallsPerSecond } from '#shared/processors/accounts/account-settings.ts';
import { connectedAccountOf } from '#shared/processors/accounts/connected-accounts.ts';
import { setProcessorAccount } from '#shared/processors/accounts/manage-accounts.ts';
import { findDueAccounts } from '#shared/reconciliation/runs.ts';
import { approveRefund, rejectRefund } from '#shared/refunds/decisions/approve.ts';
import { endRecovery, requireRecovery } from '#shared/refunds/lifecycle/recovery.ts';
import { sandboxCredentials } from '../../sandbox/processors.ts';
import { adminCliOf } from '../../support/processes/admin-cli.ts';
import { json, useScriptedServers } from '../../support/processors/scripted-server.ts';
import { signStripe, stripeEvent } from '../../support/processors/signed-webhooks.ts';
import { useWebhooks } from '../../support/processors/webhooks.ts';
import { advanceRefund } from '../../support/refunds/advance-refund.ts';
import { askForRefund, newRefund } from '../../support/refunds/new-refund.ts';
import { newPayment } from '../../support/refunds/payments.ts';
import { refundDirectly } from '../../support/refunds/refund-directly.ts';
import { makeDue, rowOf } from '../../support/refunds/refund-records.ts';
import { storePolicies } from '../../support/refunds/stored-policies.ts';
import { useService } from '../../support/use-service.ts';

const service = useService({ workers: 0 });
const webhooks = useWebhooks(service);
const serve = useScriptedServers();
const seller = 'acct_seller1';

beforeEach(() => service.sandbox.settings({ autoSettleMs: null }));
afterEach(async () => {
  await service.sandbox.clearFaults();
  await service.sandbox.account(seller, { isConnected: true, balance: null });
});

const parent = () => service.organization.accounts.test.stripe;
const atStripe = () =>
  ({ organizationId: service.organization.id, environment: 'test', processor: 'stripe' }) as const;
const connected = (connectedAccount = seller) =>
  service.deps.db.processorAccount.findFirst({ where: { connectedAccount, parentId: parent() } });

/** A direct charge of 100.00 USD. */
const directCharge = (connectedAccount = seller) =>
  service.sandbox.transaction({ processor: 'stripe', amount: 10_000, currency: 'usd', connectedAccount });

const movedAt = (connectedAccount: string, transactionId: string) =>
  service.sandbox.refunds({ processor: 'stripe', connectedAccount, transactionId });

async function refundOf(connectedAccount = seller) {
  const transactionId = await directCharge(connectedAccount);
  return await newRefund(service, { transactionId, connectedAccount });
}

test('a refund of a direct charge is sent, read and settled on behalf of its connected account', async () => {
  const { id, transactionId } = await refundOf();
  await advanceRefund(service.deps, id);
  const [moved] = await movedAt(seller, transactionId);
  expect(moved).toMatchObject({ key: id, amount: 1_000 });
  expect(await service.sandbox.refunds({ processor: 'stripe', transactionId })).toEqual([]);
  await service.sandbox.driveRefund(moved?.id ?? '', { status: 'succeeded' });
  await makeDue(service, id);
  await advanceRefund(service.deps, id);
  expect(await rowOf(service, id)).toMatchObject({ status: 'completed', isConnected: true });
});

test('a lost answer is looked up at the connected account, and the refund is made once', async () => {
  const { id, transactionId } = await refundOf();
  await service.sandbox.fault({ processor: 'stripe', operation: 'refund.create', kind: 'reset-after-apply' });
  for (let step = 0; step < 3; step += 1) {
    await makeDue(service, id);
    await advanceRefund(service.deps, id);
  }
  expect(await movedAt(seller, transactionId)).toHaveLength(1);
  expect((await rowOf(service, id)).externalRefundId).not.toBeNull();
});

test('the first use makes one account, also of many at once, with the settings of its parent and no credentials', async () => {
  const place = {
    organizationId: service.organization.id,
    environment: 'test',
    processor: 'stripe',
  } as const;
  await setCallsPerSecond(service.deps, { ...place, callsPerSecond: 77, actor: 'test' });
  const refunds = await Promise.all(Array.from({ length: 5 }, () => refundOf('acct_seller2')));
  const rows = await Promise.all(refunds.map(({ id }) => rowOf(service, id)));
  expect(new Set(rows.map(({ accountId }) => accountId)).size).toBe(1);
  expect(await connected('acct_seller2')).toMatchObject({
    ...{ name: 'stripe/acct_seller2', encryptedCredentials: null, isDefault: false, callsPerSecond: 77 },
  });
  await setCallsPerSecond(service.deps, { ...place, callsPerSecond: null, actor: 'test' });
  expect((await connected('acct_seller2'))?.callsPerSecond).toBeNull();
});

test.each([
  ['a view', 'GET', '/v1/payments/'],
  ['a dry run', 'POST', '/v1/refunds'],
] as const)('%s stores no connected account', async (_what, method, url) => {
  const connectedAccount = 'acct_unused1';
  const transactionId = await directCharge(connectedAccount);
  const answer =
    method === 'GET'
      ? await service.call('GET', `${url}${transactionId}?connectedAccount=${connectedAccount}`)
      : await askForRefund(service, { transactionId, connectedAccount, dryRun: true });
  expect(answer.status, JSON.stringify(answer.body)).toBe(200);
  expect(await connected(connectedAccount)).toBeNull();
});

test('an account that is not connected, and one of another processor, get 400 and nothing is stored', async () => {
  const { status, body } = await askForRefund(service, {
    transactionId: 'ch_any',
    connectedAccount: 'acct_missing1',
  });
  expect([status, body.error.code]).toEqual([400, 'validation_error']);
  expect(body.error.message).toMatch(/^connectedAccount: Stripe gives no access to it\./);
  expect(await connected('acct_missing1')).toBeNull();
  const atBraintree = await askForRefund(service, { processor: 'braintree', connectedAccount: seller });
  expect(atBraintree.body.error.message).toBe('connectedAccount: Braintree has no connected accounts.');
  const odd = await askForRefund(service, { transactionId: 'ch_any', connectedAccount: 'seller' });
  expect(odd.body.error.message).toMatch(/^connectedAccount: must be the ID of a connected account/);
});

test('a payment of a connected account is unknown under the platform and under another connected account', async () => {
  const transactionId = await directCharge();
  for (const where of [{ account: 'stripe' }, { connectedAccount: 'acct_seller3' }]) {
    const { status, body } = await askForRefund(service, { transactionId, ...where });
    expect([status, body.error.code]).toEqual([502, 'processor_error']);
  }
});

test('a payment of a connected account that is on record is found without naming that account', async () => {
  const { transactionId, id } = await refundOf();
  const again = await newRefund(service, { transactionId });
  expect((await rowOf(service, again.id)).accountId).toBe((await rowOf(service, id)).accountId);
  const { body } = await service.call('GET', `/v1/refunds/${id}?include=account`);
  expect(body.data.account).toEqual({
    ...{ id: (await connected())?.id, name: `stripe/${seller}`, connectedAccount: seller },
  });
});

describe('an event of the platform', () => {
  const report = async (
    refund: { id: string; externalRefundId: string | null; transactionId: string },
    more: object,
  ) => {
    const reported = {
      externalRefundId: refund.externalRefundId ?? '',
      refundId: refund.id,
      transactionId: refund.transactionId,
    };
    const webhook = signStripe(JSON.stringify({ ...stripeEvent(reported), ...more }));
    return await webhooks.send('stripe', webhook);
  };

  test('goes to the connected account that it names', async () => {
    const { id } = await refundOf();
    await advanceRefund(service.deps, id);
    const row = await rowOf(service, id);
    expect((await report(row, { account: seller })).status).toBe(200);
    expect(await webhooks.events()).toMatchObject([{ accountId: row.accountId, refundId: id }]);
    expect((await rowOf(service, id)).resyncRequestedAt).not.toBeNull();
    await service.ownerDb.processorEvent.deleteMany();
  });

  test.each([
    ['of the platform itself', {}],
    ['of an account that was never used', { account: 'acct_stranger1' }],
  ])('changes nothing of a connected account when it is %s', async (_what, about) => {
    const { id } = await refundOf();
    await advanceRefund(service.deps, id);
    expect((await report(await rowOf(service, id), about)).status).toBe(200);
    expect(await webhooks.events()).toEqual([]);
    expect((await rowOf(service, id)).resyncRequestedAt).toBeNull();
  });

  test.each([seller, 'acct_stranger1'])(
    'changes nothing of the platform itself when it names %s',
    async (account) => {
      const { id } = await newRefund(service, { transactionId: await newPayment(service) });
      await advanceRefund(service.deps, id);
      expect((await report(await rowOf(service, id), { account })).status).toBe(200);
      expect(await webhooks.events()).toEqual([]);
      expect((await rowOf(service, id)).resyncRequestedAt).toBeNull();
    },
  );
});

test('what one connected account is refused marks that one alone, until its parent gets other credentials', async () => {
  const { id } = await refundOf();
  await service.sandbox.account(seller, { isConnected: false });
  await advanceRefund(service.deps, id);
  expect((await connected())?.misconfiguredAt).not.toBeNull();
  const own = await service.deps.db.processorAccount.findUniqueOrThrow({ where: { id: parent() } });
  expect(own.misconfiguredAt).toBeNull();
  await service.sandbox.account(seller, { isConnected: true });
  const { stripe: credentials } = sandboxCredentials('test', service.sandboxUrl);
  const request = { ...atStripe(), credentials, actor: 'test' };
  const { resumedRefunds } = await setProcessorAccount(service.deps, request);
  expect(resumedRefunds).toBeGreaterThan(0);
  expect((await connected())?.misconfiguredAt).toBeNull();
  await advanceRefund(service.deps, id);
  expect((await rowOf(service, id)).externalRefundId).not.toBeNull();
});

test('connected accounts share the connections of their parent, and none of them is kept', async () => {
  const missing = { type: 'invalid_request_error', code: 'resource_missing', message: 'No such charge' };
  const server = await serve((_seen, response) => json(response, 404, { error: missing }));
  const { stripe: credentials } = sandboxCredentials('test', server.url);
  const request = { ...atStripe(), name: 'counted', credentials, actor: 'test' };
  const { id: parentId } = await setProcessorAccount(service.deps, request);
  const own = await loadAccount(service.deps.db, { accountId: parentId });
  const sellers = Array.from({ length: 20 }, (_, n) => `acct_counted${n}`);
  for (const connectedAccount of sellers) {
    const account = { ...own, id: newId('acc'), parentId, connectedAccount, usedAt: new Date() };
    const processor = await service.deps.connections.connect(account);
    await processor.getPayment('ch_1', { timeoutMs: 60_000 });
    expect(service.deps.connections.last(account.id)).toBeUndefined();
  }
  expect(server.seen.map(({ headers }) => headers['stripe-account'])).toEqual(sellers);
  expect(server.connections).toBeLessThan(sellers.length);
  await service.ownerDb.processorAccount.delete({ where: { id: parentId } });
});

test('only the connected accounts that were used lately are reconciled', async () => {
  await refundOf();
  const used = await connected();
  const {
    id: _id,
    encryptedCredentials: _c,
    encryptionKeyId: _k,
    abilities: _a,
    rateLimits: _r,
    ...columns
  } = used as NonNullable<typeof used>;
  const idle = { ...columns, id: newId('acc'), name: 'stripe/acct_idle1', connectedAccount: 'acct_idle1' };
  await service.deps.db.processorAccount.create({ data: { ...idle, usedAt: new Date('2020-01-01') } });
  const settings = { ...service.settings, RECONCILIATION_INTERVAL_MS: 3_600_000 };
  const due = (await findDueAccounts({ ...service.deps, settings })).map((account) => account.id);
  expect(due).toContain(used?.id);
  expect(due).not.toContain(idle.id);
});

test('an account is reconciled from the approval of a refund on, however long ago that was requested', async () => {
  await storePolicies(service, { approvalAbove: { api: 1 } });
  const { id } = await refundOf();
  await storePolicies(service, {});
  const account = await connected();
  const long = { usedAt: new Date('2020-01-01') };
  await service.deps.db.processorAccount.update({ where: { id: account?.id ?? '' }, data: long });
  await approveRefund(service.deps, await rowOf(service, id), 'cli:ada');
  const settings = { ...service.settings, RECONCILIATION_INTERVAL_MS: 3_600_000 };
  const due = await findDueAccounts({ ...service.deps, settings });
  expect(due).toContainEqual({ id: account?.id });
});

test('connected accounts that were never used share the calls per second and the pauses of their parent', async () => {
  // Another one, so that the pace is this test's alone.
  const own = { ...(await loadAccount(service.deps.db, { accountId: parent() })), id: newId('acc') };
  const unused = (name: string) => connectedAccountOf(service.deps.db, own, name);
  // One call, and the next one much later.
  const limits = { perSecond: 0.001, mostMs: 0 };
  const wait = async (name: string) =>
    await service.deps.connections.waitForCall(await unused(name), 'getPayment', limits);
  expect(await wait('acct_paced1')).toBeNull();
  expect(await wait('acct_paced2')).toMatchObject({ cause: 'rate_limited' });
  const rateLimits = { getPayment: { pausedUntil: '2100-01-01', slowedAt: '2100-01-01', slowedTo: 1 } };
  const paused = await connectedAccountOf(service.deps.db, { ...own, rateLimits }, 'acct_paced3');
  expect(paused.rateLimits).toEqual(rateLimits);
});

test('a connected account that was never used and cannot be read gets 503, and nothing is stored', async () => {
  const connectedAccount = 'acct_unread1';
  const transactionId = await directCharge(connectedAccount);
  await service.sandbox.fault({
    ...{ processor: 'stripe', operation: 'transaction.get', kind: 'error-503', times: null },
  });
  const { status, headers } = await askForRefund(service, { transactionId, connectedAccount });
  expect([status, headers['retry-after']]).toEqual([503, '5']);
  expect(await connected(connectedAccount)).toBeNull();
});

test('a refused connected account is reported by attention, metrics and notifications until 30 days after its last use', async () => {
  const { db } = service.deps;
  await refundOf('acct_gone');
  const { id = '' } = (await connected('acct_gone')) ?? {};
  const since = new Date();
  const abilities = { credentials: { state: 'refused', since: since.toISOString() } };
  await db.processorAccount.update({ where: { id }, data: { abilities, misconfiguredAt: since } });
  const owner = { organizationId: service.organization.id, environment: 'test' } as const;
  const reported = async () => [
    (await findRefusedAccounts(db, owner)).filter((account) => account.id === id).length,
    (await readHealth(db, 1_000)).misconfigured.reduce((sum, { accounts }) => sum + accounts, 0),
    (await readOccasions(db, [{ kind: 'attention', target: id, since }])).length,
  ];
  expect(await reported()).toEqual([1, 1, 1]);
  const long = new Date(since.getTime() - 31 * 24 * 60 * 60 * 1_000);
  await db.processorAccount.update({ where: { id }, data: { usedAt: long } });
  expect(await reported()).toEqual([0, 0, 0]);
});

test('a refund that was accepted shows that a connected account answers, however many newer ones others have', async () => {
  const { db } = service.deps;
  const [{ id: failing }, { id: accepted }] = [await refundOf('acct_busy'), await refundOf('acct_busy')];
  const retryingSince = new Date(Date.now() - 600_000);
  await db.refundWork.update({ where: { refundId: failing }, data: { retryingSince } });
  await service.ownerDb.$executeRaw`UPDATE refund SET accepted_at = service_time() WHERE id = ${accepted}`;
  const { id } = await newRefund(service);
  await db.$executeRaw`
    INSERT INTO refund (id, account_id, organization_id, environment, transaction_id, payment_id, processor, amount, currency, reason, status,
      initiated_by, requester, created_at, updated_at)
    SELECT 'ref_newer' || n, account_id, organization_id, environment, transaction_id, payment_id, processor, 1, 'usd', 'other',
      'processing', 'api', requester, service_time(), service_time()
    FROM refund, generate_series(1, 60) AS n WHERE refund.id = ${id}`;
  const owner = { organizationId: service.organization.id, environment: 'test' } as const;
  const { id: accountId } = (await connected('acct_busy')) ?? {};
  const troubled = await findAccountsInTrouble(db, owner);
  expect(troubled.find((account) => account.accountId === accountId)).toMatchObject({ acceptsOthers: true });
});

test('a recovery names a connected account without access and goes on; with access again, its refunds are looked up first', async () => {
  const connectedAccount = 'acct_away';
  await refundOf(connectedAccount);
  const account = await connected(connectedAccount);
  const transactionId = await directCharge(connectedAccount);
  const owner = { organizationId: service.organization.id, environment: 'test' } as const;
  const lost = await refundDirectly(service, {
    ...{ processor: 'stripe', transactionId, connectedAccount, amount: 1_000 },
    ...{ refundId: newId('ref'), requestDigest: requestDigestOf(owner, 'away') },
  });
  // Awaits approval in the backup, after which it was approved and sent.
  await storePolicies(service, { approvalAbove: { api: 1 } });
  const pending = await newRefund(service, {
    transactionId: await directCharge(connectedAccount),
    connectedAccount,
  });
  await storePolicies(service, {});
  // On record since long before the backup.
  await service.ownerDb
    .$executeRaw`UPDATE processor_account SET created_at = '2020-01-01' WHERE id = ${account?.id}`;
  // Read by an earlier recovery of the same day.
  const earlier = new Date(Date.now() - 7_200_000);
  const window = { windowStart: earlier, windowEnd: earlier, startedAt: earlier, finishedAt: earlier };
  await service.ownerDb.reconciliationRun.create({
    data: { ...window, id: newId('rec'), accountId: account?.id ?? '', actor: 'cli:ada', putsBack: true },
  });
  await service.sandbox.account(connectedAccount, { isConnected: false });
  const since = new Date(Date.now() - 3_600_000).toISOString();
  const { stderr } = await adminCliOf(service)(['recover', '--since', since]);
  expect(stderr).toContain(`no access to the connected account stripe/${connectedAccount} (${account?.id})`);
  expect(stderr).toContain('Recovery is complete.');
  await expect(rejectRefund(service.deps, await rowOf(service, pending.id), 'cli:ada', null)).rejects.toThrow(
    'it is not known yet whether this refund was sent',
  );
  const cancelled = await service.call('POST', `/v1/refunds/${pending.id}/cancel`);
  expect(cancelled.status).toBe(503);
  await service.sandbox.account(connectedAccount, { isConnected: true });
  const headers = { 'idempotency-key': 'away' };
  const { id } = await newRefund(service, { transactionId, connectedAccount }, { headers });
  for (let step = 0; step < 3; step += 1) {
    await makeDue(service, id);
    await advanceRefund(service.deps, id);
  }
  expect(await movedAt(connectedAccount, transactionId)).toHaveLength(1);
  expect((await rowOf(service, id)).externalRefundId).toBe(lost);
});

// The last one: payments of the same second would be looked up as well.
test.each([
  ['at once', 'processing'],
  ['after an approval', 'pending'],
] as const)(
  'a refund %s of a connected account that no recovery has read is looked up before it is sent',
  async (_when, status) => {
    const { db } = service.deps;
    const connectedAccount = `acct_late_${status}`;
    const transactionId = await directCharge(connectedAccount);
    // Made before the restore, of which the database knows nothing.
    const owner = { organizationId: service.organization.id, environment: 'test' } as const;
    const lost = await refundDirectly(service, {
      ...{ processor: 'stripe', transactionId, connectedAccount, amount: 1_000 },
      ...{ refundId: newId('ref'), requestDigest: requestDigestOf(owner, `late-${status}`) },
    });
    await requireRecovery(db);
    await endRecovery(db);
    if (status === 'pending') await storePolicies(service, { approvalAbove: { api: 1 } });
    const { id } = await newRefund(
      service,
      { transactionId, connectedAccount },
      { headers: { 'idempotency-key': `late-${status}` } },
    );
    if (status === 'pending') await approveRefund(service.deps, await rowOf(service, id), 'cli:ada');
    await storePolicies(service, {});
    for (let step = 0; step < 3; step += 1) {
      await makeDue(service, id);
      await advanceRefund(service.deps, id);
    }
    expect(await movedAt(connectedAccount, transactionId)).toHaveLength(1);
    expect((await rowOf(service, id)).externalRefundId).toBe(lost);
  },
);
