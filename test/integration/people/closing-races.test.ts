import { beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { createApiKey, revokeApiKey } from '#shared/organizations/api-keys.ts';
import { createdKeys } from '#shared/organizations/created-keys.ts';
import { disableUser } from '#shared/people/members/disable-user.ts';
import { removeMember } from '#shared/people/members/members.ts';
import { type DashboardMember, signInMember } from '../../support/dashboard/dashboard-member.ts';
import { waitForLock, withClient } from '../../support/stores/database-client.ts';
import { useService } from '../../support/use-service.ts';

// A person who is about to lose their rights creates one more key, or joins again, at that moment.
const service = useService({ workers: 0 });
let base: string;
let owner: DashboardMember;
let leaving: DashboardMember;

beforeAll(async () => {
  base = `/dashboard/${service.organization.id}/test/settings`;
  owner = await signInMember(service, 'owner');
});
beforeEach(async () => {
  leaving = await signInMember(service, 'admin');
  await leaving.visitor.get(`${base}/api-keys`);
  await owner.visitor.get(`${base}/members`);
});

/** Lets changes wait for the organization's lock, one after the other, and then releases it. */
async function inOrder<Changes extends (() => Promise<unknown>)[]>(
  ...changes: Changes
): Promise<{ [Index in keyof Changes]: Awaited<ReturnType<Changes[Index]>> }> {
  const waiting = await withClient(service.databaseUrl, async (client) => {
    await client.query('BEGIN');
    await client.query('SELECT 1 FROM organization FOR NO KEY UPDATE');
    const started: Promise<unknown>[] = [];
    for (const change of changes) {
      started.push(change());
      await waitForLock(client, started.length);
    }
    await client.query('COMMIT');
    return started;
  });
  return (await Promise.all(waiting)) as { [Index in keyof Changes]: Awaited<ReturnType<Changes[Index]>> };
}

const workingKeysOf = async (...creators: string[]) =>
  (await createdKeys(service.deps.db, creators, service.deps.clock.now())).map(({ id }) => id);
const actor = 'cli:root';
const member = () => ({ organizationId: service.organization.id, userId: leaving.userId });
const remove = () =>
  removeMember(service.deps, { ...member(), acting: { administration: actor }, keptKeys: [] });
const disable = () => disableUser(service.deps, { userId: leaving.userId, actor, revokesKeys: true });

describe('a key that an admin creates in the dashboard', () => {
  const create = () => leaving.visitor.post(`${base}/api-keys`, { name: 'Last', scopes: 'refunds:write' });
  const endings: [how: string, end: () => Promise<unknown>][] = [
    ['is removed in the dashboard', () => owner.visitor.post(`${base}/members/${leaving.userId}/remove`)],
    ['is removed on the command line', remove],
    ['is disabled', disable],
  ];

  test.each(endings)('is refused just after the admin %s', async (_how, end) => {
    const [, page] = await inOrder(end, create);
    expect(page.status).toBe(403);
    expect(page.text).toContain('Only owners and admins can create API keys.');
    expect(await workingKeysOf(`user:${leaving.userId}`)).toEqual([]);
  });

  test.each(endings)('is revoked with the others just before the admin %s', async (_how, end) => {
    const [page] = await inOrder(create, end);
    expect(page.status).toBe(200);
    const where = { createdBy: `user:${leaving.userId}` };
    expect(await service.deps.db.apiKey.count({ where })).toBe(1);
    expect(await workingKeysOf(`user:${leaving.userId}`)).toEqual([]);
  });

  test('is refused just after the admin lost that role', async () => {
    const demote = () => owner.visitor.post(`${base}/members/${leaving.userId}/role`, { role: 'operator' });
    const [demoted, page] = await inOrder(demote, create);
    expect([demoted.status, page.status]).toEqual([303, 403]);
    expect(await workingKeysOf(`user:${leaving.userId}`)).toEqual([]);
  });
});

describe('a key that is created with another key', () => {
  let manager: { id: string; plaintext: string };
  beforeEach(async () => {
    manager = await createApiKey(service.deps, {
      ...{ organizationId: service.organization.id, environment: 'test', actor: `user:${leaving.userId}` },
      scopes: ['keys:manage'],
    });
  });

  const create = () =>
    service.call('POST', '/v1/agent-keys', {
      body: { name: 'Last', limits: { currency: 'usd' } },
      key: manager.plaintext,
    });
  const revoke = () => revokeApiKey(service.deps, { keyId: manager.id, actor, withCreated: true });
  const endings: [what: string, end: () => Promise<unknown>][] = [
    ['that key is revoked', revoke],
    ['its creator is removed', remove],
    ['its creator is disabled', disable],
  ];

  test.each(endings)('is refused just after %s', async (_what, end) => {
    const [, refused] = await inOrder(end, create);
    expect([refused.status, refused.body.error.code]).toEqual([401, 'invalid_api_key']);
    expect(await workingKeysOf(`key:${manager.id}`)).toEqual([]);
  });

  test.each(endings)('is revoked as well just before %s', async (_what, end) => {
    const [created] = await inOrder(create, end);
    expect(created.status).toBe(200);
    expect(await workingKeysOf(`key:${manager.id}`)).toEqual([]);
  });
});
