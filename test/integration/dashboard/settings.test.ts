import { beforeAll, describe, expect, test } from 'vitest';
import { createApiKey } from '../../../shared/organizations/api-keys.ts';
import type { Environment } from '../../../shared/platform/environment.ts';
import { openLog } from '../../../shared/platform/log.ts';
import { auditOf } from '../../support/audit-log.ts';
import { type DashboardMember, signInMember } from '../../support/dashboard/dashboard-member.ts';
import { everyCell } from '../../support/stores/database-content.ts';
import { useService } from '../../support/use-service.ts';

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

describe('settings', () => {
  test('start with the API keys', async () => {
    expect(await viewer.visitor.get(settings)).toMatchObject({ status: 303, headers: { location: apiKeys } });
  });

  test('offer the audit log only to those who may read it', async () => {
    expect((await viewer.visitor.get(apiKeys)).text).not.toContain('Audit log');
    expect((await admin.visitor.get(apiKeys)).text).toContain('Audit log');
  });

  test.each(['api-keys/%00/revoke', 'members/%00/remove', 'members/invitations/x/revoke', 'accounts/%00'])(
    'respond with 404 to the malformed id in %s',
    async (path) => {
      expect((await admin.visitor.post(`${settings}/${path}`)).status).toBe(404);
    },
  );

  test.each(['constructor', '__proto__', '<b>'])('show no message for ?done=%s', async (word) => {
    const { status, text } = await admin.visitor.get(`${apiKeys}?done=${encodeURIComponent(word)}`);
    expect(status).toBe(200);
    expect(text).not.toContain('class="notice"');
  });
});

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
    const answer = await admin.visitor.post(apiKeys);
    expect(answer).toMatchObject({ status: 200, headers: { 'cache-control': 'no-store' } });
    expect(answer.headers.location).toBeUndefined();
    const [key = ''] = keyPattern.exec(answer.text) ?? [];
    expect(key).toMatch(/^svc_test_/);
    expect(answer.text).toContain(`curl -H &quot;Authorization: Bearer ${key}&quot;`);
    expect(await service.call('GET', '/v1/refunds?limit=1', { key })).toMatchObject({ status: 200 });

    const later = await admin.visitor.get(apiKeys);
    expect(later.text).not.toMatch(keyPattern);
    expect(later.text).toContain(`...${key.slice(-4)}`);
    const cells = await everyCell(service.settings.DATABASE_URL);
    expect(cells.filter(({ text }) => text.includes(key))).toEqual([]);
    expect(logged.length).toBeGreaterThan(0);
    expect(logged.join('')).not.toContain(key.slice('svc_test_'.length));
    const { id } = await service.deps.db.apiKey.findFirstOrThrow({ orderBy: { createdAt: 'desc' } });
    const created = { action: 'key.created', actor: `user:${admin.userId}` };
    expect(await auditOf(service, id)).toMatchObject([created]);
  });

  test('replace a part of the page with scripts, so that a reload creates no second key', async () => {
    const { text } = await admin.visitor.post(apiKeys, {}, { headers: { 'hx-request': 'true' } });
    expect(text).toMatch(/^<div id="api-keys"/);
    expect(text).toMatch(keyPattern);
    expect((await admin.visitor.get(apiKeys)).text).toContain('hx-target="#api-keys"');
  });

  test('are refused from the next request on once they are revoked', async () => {
    const { id, plaintext } = await newKey();
    const answer = await admin.visitor.post(`${apiKeys}/${id}/revoke`);
    expect(answer).toMatchObject({ status: 303, headers: { location: `${apiKeys}?done=revoked` } });
    expect((await service.call('GET', '/v1/refunds', { key: plaintext })).status).toBe(401);
    expect((await admin.visitor.get(`${apiKeys}?done=revoked`)).text).toContain('API key revoked.');
    const entries = await auditOf(service, id);
    expect(entries.at(-1)).toMatchObject({ action: 'key.revoked', actor: `user:${admin.userId}` });
  });

  test('of another environment or organization cannot be revoked', async () => {
    const foreign = await newKey('test', (await service.addOrganization('Another')).id);
    for (const { id } of [await newKey('live'), foreign]) {
      expect((await admin.visitor.post(`${apiKeys}/${id}/revoke`)).status).toBe(404);
      expect((await service.deps.db.apiKey.findUniqueOrThrow({ where: { id } })).revokedAt).toBeNull();
    }
  });
});
