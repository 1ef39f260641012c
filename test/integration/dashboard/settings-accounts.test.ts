import { afterEach, beforeAll, describe, expect, test } from 'vitest';
import { credentialContext } from '../../../shared/processors/accounts/connections.ts';
import { auditOf } from '../../support/audit-log.ts';
import { type DashboardMember, signInMember } from '../../support/dashboard/dashboard-member.ts';
import { sandboxCredentials } from '../../support/service.ts';
import { everyCell } from '../../support/stores/database-content.ts';
import { useService } from '../../support/use-service.ts';

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

type Processor = 'stripe' | 'braintree';

async function accountOf(processor: Processor) {
  const where = { organizationId: service.organization.id, environment: 'test', processor } as const;
  return await service.deps.db.processorAccount.findFirstOrThrow({ where });
}

const credentialsOf = (processor: Processor) => sandboxCredentials('test', service.sandboxUrl)[processor];
const store = (processor: Processor, fields: Record<string, string>) =>
  admin.visitor.post(`${accounts}/${processor}`, fields);
const askNow = (processor: Processor) => admin.visitor.post(`${accounts}/${processor}/test`);

describe('processor accounts', () => {
  test('are shown with their state and the address for webhooks, and never with credentials', async () => {
    const { id } = await accountOf('stripe');
    const { status, text } = await viewer.visitor.get(accounts);
    expect(status).toBe(200);
    expect(text).toMatch(new RegExp(`https?://[^"<]+/webhooks/stripe/${id}`));
    // Nobody has tried them yet.
    expect(text).toContain('>Set up</span>');
    expect(text).not.toContain('>Works<');
    expect(text).not.toContain('Replace the credentials');
    expect(text).not.toContain('Test the connection');
    for (const secret of ['sk_test', 'whsec_', 'test_public']) expect(text).not.toContain(secret);
  });

  test('one that is refused or throttled says so, and since when', async () => {
    const { id } = await accountOf('braintree');
    const since = new Date('2026-01-02T03:04:05Z');
    const until = new Date('2099-01-02T03:04:05Z');
    await service.deps.db.processorAccount.update({
      where: { id },
      data: { misconfiguredAt: since, throttledUntil: until },
    });
    const { text } = await viewer.visitor.get(accounts);
    expect(text).toContain('Refused since');
    expect(text).toContain(since.toISOString());
    expect(text).toContain('Throttled until');
    expect(text).toContain(until.toISOString());
    await service.deps.db.processorAccount.update({
      where: { id },
      data: { misconfiguredAt: null, throttledUntil: null },
    });
  });

  test.each(['stripe', 'braintree'] as const)(
    'the form for %s asks for everything, and shows nothing that is stored',
    async (processor) => {
      const { text } = await admin.visitor.get(`${accounts}/${processor}`);
      for (const [name, value] of Object.entries(credentialsOf(processor))) {
        expect(text).toContain(`name="${name}"`);
        if (name !== 'apiBase') expect(text).not.toContain(`value="${value}"`);
      }
      expect(text).not.toContain(service.sandboxUrl);
      expect((await viewer.visitor.get(`${accounts}/${processor}`)).status).toBe(403);
    },
  );

  test.each(['stripe', 'braintree'] as const)(
    'new credentials of %s take the place of the old ones',
    async (processor) => {
      const before = await accountOf(processor);
      const answer = await store(processor, { ...credentialsOf(processor), webhookSecretUnknown: 'x' });
      expect(answer).toMatchObject({ status: 303, headers: { location: `${accounts}?done=set` } });
      const after = await accountOf(processor);
      expect(after.id).toBe(before.id);
      expect(after.updatedAt > before.updatedAt).toBe(true);
      const acts = await auditOf(service, after.id);
      const detail = { environment: 'test', processor, replaced: true };
      expect(acts.at(-1)).toMatchObject({ action: 'account.set', actor: `user:${admin.userId}`, detail });
      const stored = (await everyCell(service.settings.DATABASE_URL)).map(({ text }) => text).join('\n');
      expect(stored).not.toContain('sk_test_sandbox');
      expect((await askNow(processor)).text).toContain('takes the credentials');
    },
  );

  test('an account that is not there is set up', async () => {
    const { id } = await service.addOrganization('Fresh');
    await service.deps.db.processorAccount.deleteMany({ where: { organizationId: id } });
    const { visitor, userId } = await signInMember(service, 'admin', id);
    const page = `/dashboard/${id}/test/settings/accounts`;
    expect((await visitor.get(page)).text).toContain('Not set up');
    expect((await visitor.post(`${page}/stripe/test`)).status).toBe(404);
    expect((await visitor.post(`${page}/stripe`, credentialsOf('stripe'))).status).toBe(303);
    const [account] = await service.deps.db.processorAccount.findMany({ where: { organizationId: id } });
    expect(account).toMatchObject({ environment: 'test', processor: 'stripe' });
    const acts = await auditOf(service, account?.id ?? '');
    expect(acts).toMatchObject([{ actor: `user:${userId}`, detail: { replaced: false } }]);
  });

  test.each([
    ['a key of the other environment', { secretKey: 'sk_live_Secret1' }, 'The test environment takes keys'],
    ['none at all', {}, 'Is required.'],
    ['a key with a blank in it', { secretKey: 'sk_test_Sec ret1' }, 'without blanks'],
    [
      'an address with a path',
      { secretKey: 'sk_test_Secret1', apiBase: 'https://x.example/<b>' },
      'Has to be a scheme, a host and a port',
    ],
  ])('%s is refused at its field, and not sent back', async (_what, fields, words) => {
    const before = await accountOf('stripe');
    const { status, text } = await store('stripe', fields as Record<string, string>);
    expect(status).toBe(400);
    expect(text).toContain(words);
    expect(text).not.toContain('Secret1');
    expect(text).not.toContain('Sec ret1');
    expect(text).not.toContain('<b>');
    expect(await accountOf('stripe')).toEqual(before);
  });

  test('live credentials go to no address without encryption', async () => {
    const { status, text } = await admin.visitor.post(`${accounts.replace('/test/', '/live/')}/stripe`, {
      secretKey: 'sk_live_Secret1',
      apiBase: 'http://processor.example',
    });
    expect(status).toBe(400);
    expect(text).toContain('Live credentials are sent over https only.');
  });

  test('a processor that there is none of is unknown', async () => {
    expect((await admin.visitor.get(`${accounts}/paypal`)).status).toBe(404);
    expect((await admin.visitor.post(`${accounts}/constructor/test`)).status).toBe(404);
  });
});

describe.each(['stripe', 'braintree'] as const)('a test of the connection to %s', (processor) => {
  const arm = (kind: string) =>
    service.sandbox.fault({ processor, operation: '*', kind, delayMs: 60_000, times: 1 });

  test('says that it works, and takes away the mark of refused credentials', async () => {
    const { id } = await accountOf(processor);
    const marked = { misconfiguredAt: new Date() };
    await service.deps.db.processorAccount.update({ where: { id }, data: marked });
    const { status, text } = await askNow(processor);
    expect(status).toBe(200);
    expect(text).toContain('takes the credentials');
    expect((await accountOf(processor)).misconfiguredAt).toBeNull();
    const acts = await auditOf(service, id);
    const detail = { environment: 'test', processor, result: 'works' };
    expect(acts.at(-1)).toMatchObject({ action: 'account.tested', actor: `user:${admin.userId}`, detail });
  });

  test('moves and asks for no money', async () => {
    await askNow(processor);
    expect(await service.sandbox.refunds({ processor })).toEqual([]);
  });

  test('tells refused credentials in words, and marks the account', async () => {
    await arm('error-403');
    expect((await askNow(processor)).text).toContain('The credentials are refused.');
    expect((await accountOf(processor)).misconfiguredAt).not.toBeNull();
    expect((await askNow(processor)).text).toContain('takes the credentials');
  });

  test('tells credentials of nobody from a processor that is away', async () => {
    const wrong =
      processor === 'stripe' ? { secretKey: 'sk_test_invalidKey' } : { privateKey: 'an-invalid-private-key' };
    await store(processor, { ...credentialsOf(processor), ...wrong });
    const { text } = await askNow(processor);
    expect(text).toContain('The credentials are refused.');
    expect(text).not.toContain('sk_test_invalidKey');
    expect(text).not.toContain('***');
    expect(text).not.toContain('an-invalid-private-key');
    await store(processor, credentialsOf(processor));
    expect((await askNow(processor)).text).toContain('takes the credentials');
  });

  test.each(['error-503', 'reset', 'timeout', 'malformed'])(
    'says nothing of the credentials after %s',
    async (kind) => {
      await arm(kind);
      const { status, text } = await askNow(processor);
      expect(status).toBe(200);
      expect(text).toContain('could not be asked.');
      expect((await accountOf(processor)).misconfiguredAt).toBeNull();
    },
  );

  test('leaves a processor alone that asks for fewer requests', async () => {
    await arm('rate-limit');
    await askNow(processor);
    const { throttledUntil, id } = await accountOf(processor);
    expect(throttledUntil).not.toBeNull();
    const until = new Date(Date.now() + 60_000);
    await service.deps.db.processorAccount.update({ where: { id }, data: { throttledUntil: until } });
    expect((await askNow(processor)).text).toContain('was not asked');
    await service.deps.db.processorAccount.update({ where: { id }, data: { throttledUntil: null } });
  });

  test('where scripts run, the result takes its place in the page', async () => {
    const headers = { 'hx-request': 'true' };
    const { text } = await admin.visitor.post(`${accounts}/${processor}/test`, {}, { headers });
    expect(text).toMatch(new RegExp(`^<section class="card stack" id="account-${processor}"`));
  });
});

describe('unless those who run the service allow it', () => {
  const ordinary = useService({ workers: 0 });

  test('nobody can have the service send credentials to an address of their own', async () => {
    const { visitor } = await signInMember(ordinary, 'owner');
    const url = `/dashboard/${ordinary.organization.id}/test/settings/accounts/stripe`;
    expect((await visitor.get(url)).text).not.toContain('name="apiBase"');
    const secretKey = 'sk_test_another';
    const fields = { secretKey, apiBase: 'http://127.0.0.1:1' };
    expect((await visitor.post(url, fields)).status).toBe(303);
    const where = {
      organizationId: ordinary.organization.id,
      environment: 'test',
      processor: 'stripe',
    } as const;
    const account = await ordinary.deps.db.processorAccount.findFirstOrThrow({ where });
    const sealed = { keyId: account.encryptionKeyId, bytes: account.encryptedCredentials };
    const opened = ordinary.deps.secrets.open(sealed, credentialContext(where));
    expect(JSON.parse(opened)).toEqual({ secretKey });
  });
});
