import { beforeAll, describe, expect, test } from 'vitest';
import { createApiKey } from '../../../shared/organizations/api-keys.ts';
import type { Environment } from '../../../shared/platform/environment.ts';
import { openLog } from '../../../shared/platform/log.ts';
import { auditOf } from '../../support/audit-log.ts';
import { type DashboardMember, signInMember } from '../../support/dashboard/dashboard-member.ts';
import { everyCell } from '../../support/stores/database-content.ts';
import { useService } from '../../support/use-service.ts';

const logged: string[] = [];
const log = openLog('debug', 'test', { write: (line: string) => void logged.push(line) });
const service = useService({ workers: 0, overrides: { log } });

let admin: DashboardMember;
let viewer: DashboardMember;
let stranger: DashboardMember;
let settings: string;

beforeAll(async () => {
  admin = await signInMember(service, 'admin');
  viewer = await signInMember(service, 'viewer');
  stranger = await signInMember(service, 'owner', (await service.addOrganization('Somebody else')).id);
  settings = `/dashboard/${service.organization.id}/test/settings`;
});

const keyPattern = /svc_(?:test|live)_[A-Za-z0-9]{32}/;

async function newKey(environment: Environment = 'test') {
  const organizationId = service.organization.id;
  const key = await createApiKey(service.deps, { organizationId, environment, actor: 'cli:ada' });
  return { ...key, lastFour: key.plaintext.slice(-4) };
}

describe('the room', () => {
  test('begins with the API keys', async () => {
    const page = await viewer.visitor.get(settings);
    expect(page).toMatchObject({ status: 303, headers: { location: `${settings}/api-keys` } });
  });

  test('offers the audit log to those alone who may read it', async () => {
    expect((await viewer.visitor.get(`${settings}/members`)).text).not.toContain('Audit log');
    expect((await admin.visitor.get(`${settings}/members`)).text).toContain('Audit log');
    expect((await viewer.visitor.get(`${settings}/audit-log`)).status).toBe(403);
  });

  test.each(['api-keys', 'accounts', 'accounts/stripe', 'members', 'audit-log'])(
    'is unknown to people of other organizations: %s',
    async (page) => {
      expect((await stranger.visitor.get(`${settings}/${page}`)).status).toBe(404);
    },
  );

  test.each([
    'api-keys',
    'api-keys/key_01h455vb4pex5vsknk084sn02q/revoke',
    'accounts/stripe',
    'accounts/stripe/test',
    'members/invitations',
    'members/invitations/inv_01h455vb4pex5vsknk084sn02q/revoke',
    'members/usr_01h455vb4pex5vsknk084sn02q/role',
    'members/usr_01h455vb4pex5vsknk084sn02q/remove',
  ])('is changed by admins alone, and from its own pages alone: %s', async (path) => {
    const url = `${settings}/${path}`;
    const operator = await signInMember(service, 'operator');
    expect((await operator.visitor.post(url)).status).toBe(403);
    expect((await admin.visitor.post(url, {}, { csrfToken: null })).status).toBe(403);
    expect((await admin.visitor.post(url, {}, { csrfToken: 'wrong' })).status).toBe(403);
    expect((await stranger.visitor.post(url)).status).toBe(404);
  });

  test.each(['api-keys/%00/revoke', 'members/%00/remove', 'members/invitations/x/revoke', 'accounts/%00'])(
    'has nothing at an address that cannot be one: %s',
    async (path) => {
      expect((await admin.visitor.post(`${settings}/${path}`)).status).toBe(404);
    },
  );
});

describe('API keys', () => {
  test('those of the environment are named by their end, with who made them and what became of them', async () => {
    const [mine, live] = [await newKey(), await newKey('live')];
    const { status, text } = await viewer.visitor.get(`${settings}/api-keys`);
    expect(status).toBe(200);
    expect(text).toContain(`...${mine.lastFour}`);
    expect(text).toContain('ada, on the command line');
    expect(text).not.toContain(live.id);
    expect(text).not.toContain('Create a test key');
    expect(text).not.toContain('Revoke');
  });

  test('a new key is shown once, works, and is stored and logged nowhere', async () => {
    const answer = await admin.visitor.post(`${settings}/api-keys`);
    expect(answer).toMatchObject({ status: 200, headers: { 'cache-control': 'no-store' } });
    expect(answer.headers.location).toBeUndefined();
    const [key = ''] = keyPattern.exec(answer.text) ?? [];
    expect(key).toMatch(/^svc_test_/);
    expect(answer.text).toContain(`curl -H &quot;Authorization: Bearer ${key}&quot;`);
    expect(await service.call('GET', '/v1/refunds?limit=1', { key })).toMatchObject({ status: 200 });

    const later = await admin.visitor.get(`${settings}/api-keys`);
    expect(later.text).not.toMatch(keyPattern);
    expect(later.text).toContain(`...${key.slice(-4)}`);
    const cells = await everyCell(service.settings.DATABASE_URL);
    expect(cells.filter(({ text }) => text.includes(key))).toEqual([]);
    expect(logged.length).toBeGreaterThan(0);
    expect(logged.join('')).not.toContain(key.slice('svc_test_'.length));
    const row = await service.deps.db.apiKey.findFirstOrThrow({ orderBy: { createdAt: 'desc' } });
    expect(await auditOf(service, row.id)).toMatchObject([
      { action: 'key.created', actor: `user:${admin.userId}` },
    ]);
  });

  test('where scripts run, the key takes its place in the page, so that a reload makes no other one', async () => {
    const { text } = await admin.visitor.post(
      `${settings}/api-keys`,
      {},
      { headers: { 'hx-request': 'true' } },
    );
    expect(text).toMatch(/^<div id="api-keys"/);
    expect(text).toMatch(keyPattern);
    const page = await admin.visitor.get(`${settings}/api-keys`);
    expect(page.text).toContain('hx-target="#api-keys"');
  });

  test('a revoked key is refused from the next request on, and said to be revoked', async () => {
    const { id, plaintext } = await newKey();
    const answer = await admin.visitor.post(`${settings}/api-keys/${id}/revoke`);
    expect(answer).toMatchObject({
      status: 303,
      headers: { location: `${settings}/api-keys?done=revoked` },
    });
    expect((await service.call('GET', '/v1/refunds', { key: plaintext })).status).toBe(401);
    expect((await admin.visitor.get(`${settings}/api-keys?done=revoked`)).text).toContain(
      'The key is revoked',
    );
    const acts = await auditOf(service, id);
    expect(acts.at(-1)).toMatchObject({ action: 'key.revoked', actor: `user:${admin.userId}` });
  });

  test('a key of the other environment or of somebody else does not exist', async () => {
    const live = await newKey('live');
    const { id: theirs } = await createApiKey(service.deps, {
      organizationId: (await service.addOrganization('A third')).id,
      environment: 'test',
      actor: 'test',
    });
    for (const id of [live.id, theirs]) {
      expect((await admin.visitor.post(`${settings}/api-keys/${id}/revoke`)).status).toBe(404);
      expect((await service.deps.db.apiKey.findUniqueOrThrow({ where: { id } })).revokedAt).toBeNull();
    }
  });

  test.each(['constructor', '__proto__', '<b>'])(
    'an unknown word in the address says nothing: %s',
    async (word) => {
      const { status, text } = await admin.visitor.get(
        `${settings}/api-keys?done=${encodeURIComponent(word)}`,
      );
      expect(status).toBe(200);
      expect(text).not.toContain('class="notice"');
    },
  );
});
