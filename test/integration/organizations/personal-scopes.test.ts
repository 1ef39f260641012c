import { beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { apiKeyScopes } from '#shared/organizations/api-keys.ts';
import { disableUser } from '#shared/people/members/disable-user.ts';
import { changeRole, removeMember } from '#shared/people/members/members.ts';
import { type DashboardMember, signInMember } from '../../support/dashboard/dashboard-member.ts';
import { newPerson, type TestPerson } from '../../support/people.ts';
import { newRefund } from '../../support/refunds/new-refund.ts';
import { storePolicies } from '../../support/refunds/stored-policies.ts';
import { useService } from '../../support/use-service.ts';

// An admin made a key that a backend uses, and has a copy of it. Every refund requires approval.
const service = useService({ workers: 0, settings: { CREATE_WAIT_MS: 0 } });
let owner: DashboardMember;
let admin: TestPerson;
let key: string;

const newKey = async (actor: string, expiresAt: Date | null = null) =>
  (await service.newKey({ actor, expiresAt, scopes: apiKeyScopes })).plaintext;

beforeAll(async () => {
  await storePolicies(service, { approvalAbove: { api: 0, dashboard: 0, mcp: 0 } });
  owner = await signInMember(service, 'owner');
});
beforeEach(async () => {
  admin = await newPerson(service.deps, service.organization.id, 'admin');
  key = await newKey(`user:${admin.userId}`);
});

const agentKey = { name: 'Agent', limits: { currency: 'usd' } };
const post = async (path: string, body: object | undefined, by = key) =>
  await service.call('POST', path, { key: by, ...(body === undefined ? {} : { body }) });

/** A refund that the backend's key of another person requested. */
async function pendingRefund(by = service.organization.keys.test.plaintext): Promise<string> {
  const { id, status } = await newRefund(service, {}, { key: by });
  expect(status).toBe('pending');
  return id;
}

/** The statuses of what the key does as its person: approve, make a key, make a webhook endpoint. */
const personalAnswers = async () => [
  (await post(`/v1/refunds/${await pendingRefund()}/approve`, undefined)).status,
  (await post('/v1/agent-keys', agentKey)).status,
  (await post('/v1/webhook-endpoints', { url: 'https://example.com/hooks' })).status,
];

const member = () => ({ organizationId: service.organization.id, userId: admin.userId });
const endings: [how: string, end: () => Promise<unknown>][] = [
  ['is removed', () => removeMember(service.deps, { ...member(), acting: { administration: 'cli:root' } })],
  [
    'is disabled',
    () => disableUser(service.deps, { userId: admin.userId, actor: 'cli:root', revokesKeys: false }),
  ],
  ['becomes a viewer', () => changeRole(service.deps, { ...member(), acting: owner, role: 'viewer' })],
];

describe('the key of an admin who', () => {
  test.each(endings)('%s acts for them no more, and goes on with what a backend needs', async (_how, end) => {
    expect(await personalAnswers()).toEqual([200, 200, 200]);
    await end();
    expect(await personalAnswers()).toEqual([403, 403, 403]);
    const { body } = await post('/v1/agent-keys', agentKey);
    expect(body.error).toEqual({
      code: 'insufficient_scope',
      message:
        'The person who created this API key may no longer use keys:manage. Use a key that another member created.',
    });
    const id = await pendingRefund(key);
    expect((await service.call('GET', `/v1/refunds/${id}`, { key })).status).toBe(200);
    expect((await post(`/v1/refunds/${id}/cancel`, {})).status).toBe(200);
    const { text } = await owner.visitor.get(`/dashboard/${service.organization.id}/test/settings/api-keys`);
    expect(text).toContain('refunds:approve, webhooks:manage, keys:manage ended with the role of the person');
  });

  test('becomes an operator approves with it, and makes no keys', async () => {
    await changeRole(service.deps, { ...member(), acting: owner, role: 'operator' });
    expect(await personalAnswers()).toEqual([200, 403, 403]);
  });
});

describe('a key that is created with a key that expires', () => {
  const expiresAt = new Date(Date.now() + 86_400_000);
  beforeEach(async () => {
    key = await newKey(`user:${admin.userId}`, expiresAt);
  });

  test('expires with it unless sooner', async () => {
    const sooner = new Date(expiresAt.getTime() - 3_600_000).toISOString();
    expect((await post('/v1/agent-keys', agentKey)).body.data.expiresAt).toBe(expiresAt.toISOString());
    const { body } = await post('/v1/agent-keys', { ...agentKey, expiresAt: sooner });
    expect(body.data.expiresAt).toBe(sooner);
  });

  test('is refused a longer life', async () => {
    const later = new Date(expiresAt.getTime() + 1).toISOString();
    const { status, body } = await post('/v1/agent-keys', { ...agentKey, expiresAt: later });
    expect([status, body.error.code]).toEqual([400, 'validation_error']);
    expect(body.error.message).toContain(`expiresAt: must not be after ${expiresAt.toISOString()}`);
  });
});
