import { randomBytes } from 'node:crypto';
import { beforeAll, describe, expect, test } from 'vitest';
import { createApiKey, defaultScopes, revokeApiKey } from '#shared/organizations/api-keys.ts';
import { changeApiKey } from '#shared/organizations/change-api-key.ts';
import type { Environment } from '#shared/platform/environment.ts';
import { newId } from '#shared/platform/ids.ts';
import { openLog } from '#shared/platform/log.ts';
import { auditOf } from '#test/support/audit-log.ts';
import { type DashboardMember, signInMember } from '#test/support/dashboard/dashboard-member.ts';
import { everyCell } from '#test/support/stores/database-content.ts';
import { useService } from '#test/support/use-service.ts';

// Roles, CSRF tokens and foreign organizations are covered for every route by access.test.ts.

const logged: string[] = [];
const log = openLog('debug', 'test', { write: (line: string) => void logged.push(line) });
const service = useService({ workers: 0, overrides: { log } });

let admin: DashboardMember;
let viewer: DashboardMember;
let settings: string;
let apiKeys: string;

beforeAll(async () => {
  admin = await signInMember(service, 'admin');
  viewer = await signInMember(service, 'viewer');
  settings = `/dashboard/${service.organization.id}/test/settings`;
  apiKeys = `${settings}/api-keys`;
});

const keyPattern = /svc_(?:test|live)_[A-Za-z0-9]{32}/;

async function newKey(environment: Environment = 'test', organizationId = service.organization.id) {
  return await createApiKey(service.deps, { organizationId, environment, actor: 'cli:ada' });
}

test('settings start with the processor accounts, and offer the audit log only to those who may read it', async () => {
  const location = `${settings}/accounts`;
  expect(await viewer.visitor.get(settings)).toMatchObject({ status: 303, headers: { location } });
  expect((await viewer.visitor.get(apiKeys)).text).not.toContain('/settings/audit-log');
  expect((await admin.visitor.get(apiKeys)).text).toContain('/settings/audit-log');
});

test('confirms what was done once, on the whole page that follows, by a cookie that no script reads', async () => {
  const saved = await admin.visitor.post(`${settings}/accounts/columns`, { keys: 'store' });
  const cookie = [saved.headers['set-cookie']].flat().find((each) => each?.startsWith('refunds_done='));
  expect(cookie).toMatch(/^refunds_done=columns-saved; .*Path=\/dashboard; HttpOnly; SameSite=Strict/);
  const isConfirmed = async (headers = {}) => {
    const { text } = await admin.visitor.get(String(saved.headers.location), headers);
    return text.includes('Lists of refunds show these columns.');
  };
  // An open page that updates itself does not take it.
  expect(await isConfirmed({ 'hx-request': 'true' })).toBe(false);
  expect([await isConfirmed(), await isConfirmed()]).toEqual([true, false]);
});

test('the key list leads to samples with what it shows of a key', async () => {
  const { plaintext } = await newKey();
  const { text } = await admin.visitor.get(apiKeys);
  expect(text).toContain(`href="/docs?key=svc_test_...${plaintext.slice(-4)}"`);
  expect(text).not.toContain(plaintext);
});

test('shows no message for words that no redirect leaves', async () => {
  for (const word of ['constructor', '__proto__', '%3Cb%3E']) {
    const cookie = `${admin.visitor.cookie}; refunds_done=${word}`;
    const { status, text } = await admin.visitor.get(apiKeys, { cookie });
    expect([status, text.includes('class="notice"')], word).toEqual([200, false]);
  }
});

/** The form as it is shown at first: default scopes are selected. */
const form = (fields: Record<string, string> = {}): [string, string][] => [
  ...defaultScopes.map((scope): [string, string] => ['scopes', scope]),
  ...Object.entries(fields),
];

describe('API keys', () => {
  test('are listed per environment by their last characters and creator, read-only for a viewer', async () => {
    const [{ plaintext }, live] = [await newKey(), await newKey('live')];
    const { status, text } = await viewer.visitor.get(apiKeys);
    expect(status).toBe(200);
    expect(text).toContain(`...${plaintext.slice(-4)}`);
    expect(text).toContain('ada (command line)');
    for (const hidden of [live.id, 'Create test key', 'Revoke']) expect(text).not.toContain(hidden);
  });

  test('are shown once, work, and are neither stored nor logged', async () => {
    const answer = await admin.visitor.post(apiKeys, form());
    expect(answer).toMatchObject({ status: 200, headers: { 'cache-control': 'no-store' } });
    expect(answer.headers.location).toBeUndefined();
    const [key = ''] = keyPattern.exec(answer.text) ?? [];
    expect(key).toMatch(/^svc_test_/);
    expect(answer.text).toContain(`curl -H &quot;Authorization: Bearer ${key}&quot;`);
    expect(await service.call('GET', '/v1/refunds?limit=1', { key })).toMatchObject({ status: 200 });

    const later = await admin.visitor.get(apiKeys);
    expect(later.text).not.toMatch(keyPattern);
    expect(later.text).toContain(`...${key.slice(-4)}`);
    const cells = await everyCell(service.databaseUrl);
    expect(cells.filter(({ text }) => text.includes(key))).toEqual([]);
    expect(logged.length).toBeGreaterThan(0);
    expect(logged.join('')).not.toContain(key.slice('svc_test_'.length));
    const { id } = await service.deps.db.apiKey.findFirstOrThrow({ orderBy: { createdAt: 'desc' } });
    const created = { action: 'key.created', actor: `user:${admin.userId}` };
    expect(await auditOf(service, id)).toMatchObject([created]);
  });

  test('are created with a name, scopes and an expiry, which the list shows', async () => {
    const before = Date.now();
    const fields: [string, string][] = [
      ['name', ' Shop <b>backend</b> '],
      ['expiresInDays', '30'],
      ['scopes', 'refunds:approve'],
      ['scopes', 'refunds:read'],
    ];
    const { status } = await admin.visitor.post(apiKeys, fields);
    expect(status).toBe(200);
    const key = await service.deps.db.apiKey.findFirstOrThrow({ orderBy: { createdAt: 'desc' } });
    expect(key).toMatchObject({ name: 'Shop <b>backend</b>', scopes: ['refunds:read', 'refunds:approve'] });
    const days = ((key.expiresAt?.getTime() ?? 0) - before) / 86_400_000;
    expect(Math.round(days)).toBe(30);
    const { text } = await viewer.visitor.get(apiKeys);
    const row = rowOf(text, key.id);
    expect(row).toContain('Shop &lt;b>backend&lt;/b>');
    expect(row).toContain('refunds:read, refunds:approve');
    expect(row).toContain(key.expiresAt?.toISOString());
    expect(await auditOf(service, key.id)).toMatchObject([
      { detail: { name: 'Shop <b>backend</b>', scopes: 'refunds:read, refunds:approve' } },
    ]);
  });

  test.each([
    ['no scope', [['name', 'Kept']], 'id="scopes-problem">Select at least one scope.'],
    ['a long name', form({ name: 'x'.repeat(101) }), 'id="name-problem">Must be at most 100 printable'],
    ['no days', form({ expiresInDays: '0' }), 'id="expiresInDays-problem">Enter a number of days'],
    ['too many days', form({ expiresInDays: '3651' }), 'id="expiresInDays-problem">Enter a number of days'],
  ] as [string, [string, string][], string][])(
    'are not created with %s, and the form keeps what was entered',
    async (_what, fields, problem) => {
      const count = await service.deps.db.apiKey.count();
      const { status, text } = await admin.visitor.post(apiKeys, fields);
      expect(status).toBe(400);
      expect(text).toContain(problem);
      for (const [name, value] of fields) {
        if (name !== 'scopes') expect(text).toContain(`value="${value}"`);
      }
      expect(await service.deps.db.apiKey.count()).toBe(count);
    },
  );

  test('show whether they are active, stopped, expired or revoked, and which are made for agents', async () => {
    const { id: organizationId } = service.organization;
    const request = { organizationId, environment: 'test', actor: 'cli:ada' } as const;
    const agent = await createApiKey(service.deps, { ...request, agentLimits: { currency: 'usd' } });
    const { id } = await newKey();
    const { deps } = service;
    const wordsOf = async (keyId: string) =>
      /Active|Stopped|Expired|Revoked/.exec(rowOf((await viewer.visitor.get(apiKeys)).text, keyId))?.[0];
    expect(await wordsOf(id)).toBe('Active');
    await changeApiKey(deps, { keyId: id, actor: 'cli:ada', change: { isStopped: true } });
    expect(await wordsOf(id)).toBe('Stopped');
    // The service's clock may be a little behind this one.
    await deps.db.apiKey.update({ where: { id }, data: { expiresAt: new Date(Date.now() - 60_000) } });
    expect(await wordsOf(id)).toBe('Expired');
    await revokeApiKey(deps, { keyId: id, actor: 'cli:ada' });
    expect(await wordsOf(id)).toBe('Revoked');
    const { text } = await viewer.visitor.get(apiKeys);
    expect(rowOf(text, agent.id)).toContain('>Agent<');
    expect(rowOf(text, id)).not.toContain('>Agent<');
  });

  /** The row of a key in the page. */
  const rowOf = (text: string, keyId: string) =>
    new RegExp(`<tr id="${keyId}">.*?</tr>`, 's').exec(text)?.[0] ?? '';

  test('are refused from the next request on once they are revoked, alone or with the keys that they created', async () => {
    const request = { organizationId: service.organization.id, environment: 'test' } as const;
    const newManager = async () => {
      const { id, plaintext } = await createApiKey(service.deps, {
        ...{ ...request, actor: 'cli:ada', scopes: ['refunds:read', 'keys:manage'] },
      });
      return { id, plaintext, created: await createApiKey(service.deps, { ...request, actor: `key:${id}` }) };
    };
    const [alone, together] = [await newManager(), await newManager()];
    const { text } = await admin.visitor.get(apiKeys);
    expect(rowOf(text, alone.id)).toContain('Also revoke the keys (1 now)');
    expect(rowOf(text, alone.created.id)).not.toContain('withCreated');
    const revoke = async (id: string, fields = {}) => {
      const { headers, done } = await admin.visitor.post(`${apiKeys}/${id}/revoke`, fields);
      return [headers.location, done];
    };
    expect(await revoke(alone.id)).toEqual([apiKeys, 'key-revoked']);
    expect(await revoke(together.id, { withCreated: 'yes' })).toEqual([apiKeys, 'keys-revoked']);
    const entry = { action: 'key.revoked', actor: `user:${admin.userId}` };
    expect((await auditOf(service, alone.id)).at(-1)).toMatchObject(entry);
    const statusWith = async ({ plaintext: key }: { plaintext: string }) =>
      (await service.call('GET', '/v1/refunds', { key })).status;
    const keys = [alone, alone.created, together.created];
    expect(await Promise.all(keys.map(statusWith))).toEqual([401, 200, 401]);
  });

  test('are listed 50 to a page, revoked ones included', async () => {
    const { id: organizationId } = await service.addOrganization('Many keys');
    const member = await signInMember(service, 'viewer', organizationId);
    const { db } = service.deps;
    const { agentLimits: _, ...key } = await db.apiKey.findFirstOrThrow({
      where: { organizationId, environment: 'test' },
    });
    const others = Array.from({ length: 50 }, () => ({ ...key, id: newId('key'), hash: randomBytes(32) }));
    await db.apiKey.createMany({ data: others });
    await db.apiKey.updateMany({ where: { organizationId }, data: { revokedAt: new Date() } });
    const ids = [key, ...others].map(({ id }) => id);
    const read = async (url: string) => {
      const { text } = await member.visitor.get(url);
      const [, older = ''] = /href="([^"]+\?cursor=\w+)">\s*Older/.exec(text) ?? [];
      return { older, listed: [...text.matchAll(/<tr id="(key_\w+)"/g)].map(([, id]) => id) };
    };
    const first = await read(`/dashboard/${organizationId}/test/settings/api-keys`);
    const second = await read(first.older);
    expect([first.listed.length, second.older]).toEqual([50, '']);
    expect([...first.listed, ...second.listed].toSorted()).toEqual(ids.toSorted());
  });

  test('of another environment or organization cannot be revoked', async () => {
    const foreign = await newKey('test', (await service.addOrganization('Another')).id);
    for (const { id } of [await newKey('live'), foreign]) {
      expect((await admin.visitor.post(`${apiKeys}/${id}/revoke`)).status).toBe(404);
      expect((await service.deps.db.apiKey.findUniqueOrThrow({ where: { id } })).revokedAt).toBeNull();
    }
  });
});

test('the days of approvals by two people are shown to every member, and changed by owners alone', async () => {
  const url = `${settings}/approvals`;
  const { id } = service.organization;
  expect((await viewer.visitor.get(url)).text).toMatch(/<input[^>]*id="days"[^>]*value="7"[^>]*disabled/);
  expect((await admin.visitor.post(url, { days: '0' })).status).toBe(403);
  const owner = await signInMember(service, 'owner');
  const saved = await owner.visitor.post(url, { days: ' 14 ' });
  expect(saved).toMatchObject({ status: 303, headers: { location: url }, done: 'approvals-saved' });
  await owner.visitor.post(url, { days: '14' });
  const entries = (await auditOf(service, id)).filter(({ action }) => action.includes('four_eyes'));
  expect(entries).toMatchObject([{ actor: `user:${owner.userId}`, detail: { from: 7, to: 14 } }]);
  for (const days of ['', '91', 'many']) {
    const { status, text } = await owner.visitor.post(url, { days });
    expect([status, text.includes('Must be a whole number from 0 to 90.')]).toEqual([400, true]);
  }
  expect((await owner.visitor.get(url)).text).toMatch(/<input[^>]*id="days"[^>]*value="14"/);
});

test('owners set that refunds ask for a confirmation once an hour, which the audit log has', async () => {
  const url = `${settings}/approvals`;
  const owner = await signInMember(service, 'owner');
  const isChecked = async () =>
    /<input[^>]*id="hourly"[^>]*checked/.test((await owner.visitor.get(url)).text);
  expect(await isChecked()).toBe(false);
  for (const hourly of ['true', 'true']) await owner.visitor.post(url, { days: '7', hourly });
  expect(await isChecked()).toBe(true);
  const entries = (await auditOf(service, service.organization.id)).filter(({ action }) =>
    action.includes('hourly'),
  );
  expect(entries).toMatchObject([{ actor: `user:${owner.userId}`, detail: { from: false, to: true } }]);
});
