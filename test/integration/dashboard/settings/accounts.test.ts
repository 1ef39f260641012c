import { afterEach, beforeAll, describe, expect, test } from 'vitest';
import type { Prisma } from '#shared/platform/database.ts';
import { newId } from '#shared/platform/ids.ts';
import { accountAt } from '#shared/processors/accounts/account.ts';
import { setProcessorAccount } from '#shared/processors/accounts/manage-accounts.ts';
import { sandboxCredentials } from '#test/sandbox/processors.ts';
import { auditOf } from '#test/support/audit-log.ts';
import { type DashboardMember, signInMember } from '#test/support/dashboard/dashboard-member.ts';
import { hiddenField } from '#test/support/dashboard/second-factor.ts';
import { ownAddressAt } from '#test/support/processors/at-sandbox.ts';
import { paused } from '#test/support/processors/paused.ts';
import { openCredentials } from '#test/support/processors/stored-credentials.ts';
import { everyCell } from '#test/support/stores/database-content.ts';
import { useService } from '#test/support/use-service.ts';

const service = useService({ workers: 0, settings: { DASHBOARD_SETS_ADDRESSES: true } });

let admin: DashboardMember;
let viewer: DashboardMember;
let accounts: string;

beforeAll(async () => {
  admin = await signInMember(service, 'admin');
  viewer = await signInMember(service, 'viewer');
  accounts = `/dashboard/${service.organization.id}/test/settings/accounts`;
});
afterEach(() => service.sandbox.clearFaults());

const processors = ['stripe', 'braintree'] as const;
type Processor = (typeof processors)[number];

async function accountOf(processor: Processor) {
  const place = { organizationId: service.organization.id, environment: 'test', processor } as const;
  return await service.deps.db.processorAccount.findFirstOrThrow({ where: accountAt(place) });
}

const update = (id: string, data: Prisma.ProcessorAccountUpdateInput) =>
  service.deps.db.processorAccount.update({ where: { id }, data });
const credentialsOf = (processor: Processor, account?: string) =>
  sandboxCredentials('test', service.sandboxUrl, account)[processor];
/** The page of an account. */
const pageOf = async (processor: Processor) => `${accounts}/${(await accountOf(processor)).id}`;
const store = async (processor: Processor, fields: Record<string, string>) =>
  await admin.visitor.post(`${await pageOf(processor)}/credentials`, fields);
const testNow = async (processor: Processor, headers = {}) =>
  await admin.visitor.post(`${await pageOf(processor)}/test`, {}, { headers });
/** Adds an account, as the form does once its page was opened. */
const add = async (
  fields: Record<string, string>,
  { to = accounts, by = admin.visitor, id = newId('acc') } = {},
) => await by.post(`${to}/new/stripe`, { accountId: id, ...fields });
const connected = 'accepts the credentials.';

describe('processor accounts', () => {
  test('show their state and webhook URL, and no credentials', async () => {
    const { id } = await accountOf('stripe');
    const { status, text } = await viewer.visitor.get(`${accounts}/${id}`);
    expect(status).toBe(200);
    expect(text).toMatch(new RegExp(`https?://[^"<]+/webhooks/stripe/${id}`));
    expect(text).toContain('Credentials updated');
    for (const hidden of ['>Connected<', 'Replace credentials', 'Test connection']) {
      expect(text).not.toContain(hidden);
    }
    for (const secret of ['sk_test', 'whsec_', 'test_public']) expect(text).not.toContain(secret);
  });

  test('show rejected credentials and rate limits with their times', async () => {
    const { id } = await accountOf('braintree');
    const misconfiguredAt = new Date('2026-01-02T03:04:05Z');
    const pausedUntil = new Date('2099-01-02T03:04:05Z');
    await update(id, { misconfiguredAt, rateLimits: paused(pausedUntil, 'createRefund') });
    expect((await viewer.visitor.get(accounts)).text).toContain('Credentials rejected');
    const { text } = await viewer.visitor.get(`${accounts}/${id}`);
    for (const each of ['Credentials rejected since', 'Sending refunds: paused until'])
      expect(text).toContain(each);
    for (const time of [misconfiguredAt, pausedUntil]) expect(text).toContain(time.toISOString());
    await update(id, { misconfiguredAt: null, rateLimits: {} });
  });

  test.each(processors)(
    'ask for all credentials of %s, replace them and store them encrypted',
    async (processor) => {
      const before = await accountOf(processor);
      const { text } = await admin.visitor.get(`${accounts}/${before.id}/credentials`);
      for (const [name, value] of Object.entries(credentialsOf(processor))) {
        expect(text).toContain(`name="${name}"`);
        expect(text).not.toContain(`value="${value}"`);
      }
      const answer = await store(processor, { ...credentialsOf(processor), unknownField: 'x' });
      expect(answer).toMatchObject({
        status: 303,
        headers: { location: `${accounts}/${before.id}` },
        done: 'credentials-saved',
      });
      const after = await accountOf(processor);
      expect(after.id).toBe(before.id);
      expect(after.updatedAt > before.updatedAt).toBe(true);
      const detail = { environment: 'test', processor, replaced: true };
      const entry = { action: 'account.set', actor: `user:${admin.userId}`, detail };
      expect((await auditOf(service, after.id)).at(-1)).toMatchObject(entry);
      const stored = (await everyCell(service.databaseUrl)).map(({ text }) => text).join('\n');
      expect(stored).not.toContain('sk_test_sandbox');
      expect((await testNow(processor)).text).toContain(connected);
    },
  );

  test.each([
    ['a live key in test', { secretKey: 'sk_live_Secret1' }, 'The test environment takes keys'],
    ['a missing key', {}, 'Is required.'],
    ['a key with a space', { secretKey: 'sk_test_Sec ret1' }, /without (blanks|spaces)/],
    [
      'an address with a path',
      { secretKey: 'sk_test_Secret1', apiBase: 'https://x.example/<b>' },
      /scheme, a host and a port/,
    ],
  ])('reject %s at its field without sending it back', async (_what, fields, message) => {
    const before = await accountOf('stripe');
    const { status, text } = await store('stripe', fields as Record<string, string>);
    expect(status).toBe(400);
    expect(text).toMatch(message);
    for (const secret of ['Secret1', 'Sec ret1', '<b>']) expect(text).not.toContain(secret);
    expect(await accountOf('stripe')).toEqual(before);
  });

  test('offer the metadata to send only where the processor keeps it, and nothing of an unknown processor', async () => {
    const account = await pageOf('stripe');
    const page = `${account}/metadata`;
    const saved = await admin.visitor.post(page, { keys: ' order_id, ticket,' });
    expect(saved).toMatchObject({
      status: 303,
      headers: { location: account },
      done: 'sent-metadata-saved',
    });
    expect((await accountOf('stripe')).sentMetadataKeys).toEqual(['order_id', 'ticket']);
    expect((await viewer.visitor.get(account)).text).toContain('order_id, ticket');
    expect((await admin.visitor.get(page)).text).toContain('value="order_id, ticket"');
    const refused = await admin.visitor.post(page, { keys: 'refund_id' });
    expect([refused.status, refused.text]).toEqual([
      400,
      expect.stringContaining('Must not include refund_id'),
    ]);
    const without = `${await pageOf('braintree')}/metadata`;
    for (const path of [without, `${accounts}/new/paypal`, `${accounts}/new/constructor`])
      expect((await admin.visitor.get(path)).status, path).toBe(404);
    expect((await admin.visitor.post(without, { keys: 'a' })).status).toBe(404);
  });
});

describe('adding an account', () => {
  const named = (name: string) =>
    service.deps.db.processorAccount.findFirst({
      where: { organizationId: service.organization.id, environment: 'test', name },
    });

  test('shows its webhook URL first, tests the credentials, and shows what they may do', async () => {
    const { text } = await admin.visitor.get(`${accounts}/new/stripe`);
    const id = hiddenField(text, 'accountId');
    expect(text).toContain(`/webhooks/stripe/${id}<`);
    const answer = await add({ name: 'shop-eu', ...credentialsOf('stripe', 'eu') }, { id });
    expect(answer).toMatchObject({
      status: 303,
      headers: { location: `${accounts}/${id}` },
      done: 'credentials-saved',
    });
    expect(await named('shop-eu')).toMatchObject({ id, isDefault: false });
    const detail = { environment: 'test', processor: 'stripe', name: 'shop-eu', replaced: false };
    expect(await auditOf(service, id)).toMatchObject([{ actor: `user:${admin.userId}`, detail }]);
    const shown = (await viewer.visitor.get(`${accounts}/${id}`)).text;
    expect(shown).toMatch(/Refunds<\/th>.*?Works/s);
    expect((await viewer.visitor.get(accounts)).text).toMatch(/shop-eu<\/a>/);
  });

  test('makes the first account of a processor the default one', async () => {
    const { id: organizationId } = await service.addOrganization('Fresh');
    await service.ownerDb.processorAccount.deleteMany({ where: { organizationId } });
    const { visitor } = await signInMember(service, 'admin', organizationId);
    const to = `/dashboard/${organizationId}/test/settings/accounts`;
    expect((await visitor.get(to)).text).toContain('No test accounts');
    expect((await visitor.get(`${to}/new/stripe`)).text).toContain('value="stripe"');
    await add({ name: 'stripe', ...credentialsOf('stripe') }, { to, by: visitor });
    const created = await service.deps.db.processorAccount.findMany({ where: { organizationId } });
    expect(created).toMatchObject([{ environment: 'test', processor: 'stripe', isDefault: true }]);
  });

  test('stores refused credentials only on demand, and never shows them again', async () => {
    const refused = { name: 'shop-us', secretKey: 'sk_test_invalid', apiBase: service.sandboxUrl };
    const id = newId('acc');
    const { status, text } = await add(refused, { id });
    expect([status, await named('shop-us')]).toEqual([400, null]);
    expect(text).toContain('Stripe rejected these credentials, so nothing was stored.');
    expect(text).not.toContain('sk_test_invalid');
    // What was registered at the processor stays true.
    expect(hiddenField(text, 'accountId')).toBe(id);
    expect((await add({ ...refused, storeAnyway: 'true' }, { id })).done).toBe('credentials-refused');
  });

  test('replaces the credentials of no other account, and is done once by a form that is sent twice', async () => {
    const credentials = credentialsOf('stripe', 'uk');
    const before = await accountOf('stripe');
    const taken = await add({ name: before.name, ...credentials });
    expect([taken.status, taken.text]).toEqual([400, expect.stringContaining('Is that of another account.')]);
    expect(await accountOf('stripe')).toEqual(before);
    const id = newId('acc');
    const twice = [
      await add({ name: 'shop-uk', ...credentials }, { id }),
      await add({ name: 'shop-uk', ...credentials }, { id }),
    ];
    expect(twice.map(({ status }) => status)).toEqual([303, 303]);
    expect((await add({ name: 'shop-fr', ...credentials }, { id })).text).toContain(
      'This form has added an account already.',
    );
    expect((await add({ name: 'Shop EU', ...credentials })).text).toContain('id="name-problem"');
    expect((await add({ name: 'shop-fr', ...credentials }, { id: 'acc_1' })).status).toBe(400);
  });
});

describe('an account', () => {
  test('of another organization or environment is answered like an unknown one', async () => {
    const { id: organizationId } = await service.addOrganization('Elsewhere');
    const foreign = await service.deps.db.processorAccount.findFirstOrThrow({ where: { organizationId } });
    const live = await service.deps.db.processorAccount.findFirstOrThrow({
      where: { organizationId: service.organization.id, environment: 'live' },
    });
    const words = async (id: string) => {
      const { status, text } = await admin.visitor.get(`${accounts}/${id}`);
      return [status, text.replaceAll(/req_[0-9a-z]+/g, '').replaceAll(id, '')];
    };
    const unknown = await words(newId('acc'));
    expect(unknown[0]).toBe(404);
    for (const { id } of [foreign, live]) expect(await words(id)).toEqual(unknown);
  });

  test('lists what is connected to it, the latest used first, 50 at a time, found by a part of the ID', async () => {
    const parent = await accountOf('braintree');
    const { id, organizationId, updatedAt } = await accountOf('stripe');
    const used = (second: number) => new Date(Date.UTC(2026, 0, 1, 0, 0, second));
    const child = (number: number, parentId: string) => ({
      ...{
        id: newId('acc'),
        organizationId,
        environment: 'test' as const,
        processor: 'stripe',
        parentId,
        updatedAt,
      },
      connectedAccount: `acct_seller${number}`,
      ...{ name: `stripe/acct_seller${number}`, usedAt: used(number) },
    });
    const children = Array.from({ length: 60 }, (_, number) => child(number, id));
    await service.deps.db.processorAccount.createMany({ data: children });
    const listed = async (query = '') => {
      const { text } = await viewer.visitor.get(`${accounts}/${id}${query}`);
      return [...text.matchAll(/>(acct_seller\d+)<\/a>/g)].map(([, account]) => account);
    };
    expect(await listed()).toEqual(Array.from({ length: 50 }, (_, at) => `acct_seller${59 - at}`));
    expect(await listed('?connected=seller7')).toEqual(['acct_seller7']);
    expect(await listed('?connected=none')).toEqual([]);
    expect((await viewer.visitor.get(`${accounts}/${parent.id}`)).text).not.toContain('acct_seller');
  });

  test('that is connected has what is its own, and the credentials of its parent', async () => {
    const child = await service.deps.db.processorAccount.findFirstOrThrow({
      where: { parentId: { not: null } },
    });
    const page = `${accounts}/${child.id}`;
    const { text } = await admin.visitor.get(page);
    expect(text).toContain(`href="${accounts}/${child.parentId}"`);
    expect(text).not.toContain('Webhook URL');
    for (const path of ['credentials', 'metadata'])
      expect((await admin.visitor.get(`${page}/${path}`)).status, path).toBe(404);
    expect((await admin.visitor.post(`${page}/test`)).status).toBe(200);
    expect((await auditOf(service, child.id)).at(-1)).toMatchObject({ action: 'account.tested' });
  });
});

describe.each(processors)('testing the connection to %s', (processor) => {
  test('confirms working credentials and clears their rejection, without moving money', async () => {
    const { id } = await accountOf(processor);
    const since = new Date();
    await update(id, { misconfiguredAt: since, abilities: { credentials: { state: 'refused', since } } });
    const { status, text } = await testNow(processor, { 'hx-request': 'true' });
    expect(status).toBe(200);
    expect(text).toMatch(/^<section class="card stack" id="account"/);
    expect(text).toContain(connected);
    expect((await accountOf(processor)).misconfiguredAt).toBeNull();
    const detail = { environment: 'test', processor, result: 'works', refused: [] };
    const entry = { action: 'account.tested', actor: `user:${admin.userId}`, detail };
    expect((await auditOf(service, id)).at(-1)).toMatchObject(entry);
    expect(await service.sandbox.refunds({ processor })).toEqual([]);
  });

  test.each([
    ['error-403', 'rejected the credentials.', true],
    ['error-503', 'did not say whether it permits refunds.', false],
  ])('after %s says that the processor %s', async (kind, words, isBlamed) => {
    await service.sandbox.fault({ processor, operation: '*', kind, times: null });
    const { status, text } = await testNow(processor);
    await service.sandbox.clearFaults();
    expect(status).toBe(200);
    expect(text).toContain(words);
    expect((await accountOf(processor)).misconfiguredAt !== null).toBe(isBlamed);
    expect((await testNow(processor)).text).toContain(connected);
  });
});

describe('what the credentials may do', () => {
  const rows = (text: string) =>
    [
      ...(/<section class="card stack" id="account".*?<\/section>/s.exec(text)?.[0] ?? '').matchAll(
        /<th scope="row">(.*?)<\/th>(.*?)<\/tr>/gs,
      ),
    ].map(
      ([, ability = '', cells = '']) =>
        `${ability}:${cells.replaceAll(/<[^>]+>/g, ' ').replaceAll(/\s+/g, ' ')}`,
    );
  const restrictTo = async (secretKey: string) =>
    await setProcessorAccount(service.deps, {
      ...{ organizationId: service.organization.id, environment: 'test', processor: 'stripe', actor: 'test' },
      credentials: { secretKey, apiBase: service.sandboxUrl },
    });

  test('is shown for each ability, with the permission that Stripe names, also after the test', async () => {
    await restrictTo('rk_test_without_dispute_read');
    const tested = (await testNow('stripe')).text;
    expect(tested).toContain('Stripe refuses some of what the service needs.');
    const shown = rows(tested);
    expect(shown).toHaveLength(6);
    for (const each of ['Reading payments: Works', 'Cancellations: Works', 'Webhooks: Refused'])
      expect(shown).toContainEqual(expect.stringContaining(each));
    const refused = /^Reading disputes: Refused .*Missing permission: rak_dispute_read/;
    expect(shown).toContainEqual(expect.stringMatching(refused));
    const later = (await viewer.visitor.get(await pageOf('stripe'))).text;
    expect(rows(later)).toContainEqual(expect.stringMatching(refused));
    expect(later).toContain('Reading disputes refused since');
    expect(later).not.toContain('Credentials rejected');
    const overview = await viewer.visitor.get(`/dashboard/${service.organization.id}/test`);
    expect(overview.text).toContain('Stripe: reading disputes refused');
  });

  test('is tested before credentials are stored: refused ones are stored only on demand, and untested ones with a warning', async () => {
    const before = await accountOf('stripe');
    const refused = { secretKey: 'sk_test_invalid', apiBase: service.sandboxUrl };
    const { status, text } = await store('stripe', refused);
    expect(status).toBe(400);
    expect(text).toContain('Stripe rejected these credentials, so nothing was stored.');
    expect(text).toContain('name="storeAnyway"');
    expect(text).not.toContain('sk_test_invalid');
    expect(await accountOf('stripe')).toEqual(before);
    const done = ({ done }: Awaited<ReturnType<typeof store>>) => done;
    expect(done(await store('stripe', { ...refused, storeAnyway: 'yes' }))).toBe('credentials-refused');
    expect((await accountOf('stripe')).misconfiguredAt).not.toBeNull();
    const unreachable = { secretKey: 'sk_test_unreachable', apiBase: 'http://127.0.0.1:1' };
    expect(done(await store('stripe', unreachable))).toBe('credentials-untested');
    expect(await accountOf('stripe')).toMatchObject({ misconfiguredAt: null, abilities: {} });
    const restricted = { secretKey: 'rk_test_without_dispute_read', apiBase: service.sandboxUrl };
    expect(done(await store('stripe', restricted))).toBe('credentials-limited');
    expect((await accountOf('stripe')).abilities).toMatchObject({
      disputes: { state: 'refused', permission: 'rak_dispute_read' },
      refund: { state: 'works' },
    });
    const unidentified = { ...restricted, secretKey: 'rk_test_without_accounts_kyc_basic_read' };
    expect(done(await store('stripe', unidentified))).toBe('credentials-unidentified');
    expect(done(await store('stripe', credentialsOf('stripe')))).toBe('credentials-saved');
    const other = credentialsOf('stripe', 'other');
    expect((await store('stripe', other)).text).toContain('would be looked up in acct_');
    expect(done(await store('stripe', { ...other, storeAnyway: 'yes' }))).toBe('credentials-saved');
  });
});

describe('without DASHBOARD_SETS_ADDRESSES', () => {
  const ordinary = useService({ workers: 0 });

  test('ignores the address of a processor in the form', async () => {
    const { visitor } = await signInMember(ordinary, 'owner');
    const organizationId = ordinary.organization.id;
    const where = { organizationId, environment: 'test', processor: 'stripe' } as const;
    const stored = () => ordinary.deps.db.processorAccount.findFirstOrThrow({ where });
    const url = `/dashboard/${organizationId}/test/settings/accounts/${(await stored()).id}/credentials`;
    expect((await visitor.get(url)).text).not.toContain('name="apiBase"');
    ownAddressAt(ordinary.sandboxUrl);
    const secretKey = 'sk_test_another';
    const fields = { secretKey, apiBase: 'http://127.0.0.1:1' };
    expect((await visitor.post(url, fields)).status).toBe(303);
    expect(openCredentials(ordinary.deps.secrets, await stored())).toEqual({ secretKey });
  });
});
