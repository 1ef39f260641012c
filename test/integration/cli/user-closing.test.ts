import { randomBytes } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import { startSession } from '#shared/people/sign-in/sessions.ts';
import { signIn } from '#shared/people/sign-in/sign-in.ts';
import { newId } from '#shared/platform/ids.ts';
import { createEndpoint } from '#shared/webhooks/manage-endpoints.ts';
import { auditOf } from '../../support/audit-log.ts';
import { type DashboardMember, signInMember } from '../../support/dashboard/dashboard-member.ts';
import { DashboardVisitor } from '../../support/dashboard/dashboard-visitor.ts';
import { findCanaries, newCanary } from '../../support/http/canaries.ts';
import { newEmail, newPerson, proofOf, type TestPerson } from '../../support/people.ts';
import { onlyLine, ownerCliOf } from '../../support/processes/admin-cli.ts';
import { everyCell } from '../../support/stores/database-content.ts';
import { useService } from '../../support/use-service.ts';

const service = useService({ workers: 0 });
const admin = ownerCliOf(service);
const user = (command: string, { email }: { email: string }, ...more: string[]) =>
  admin(['user', command, '--email', email, ...more]);
const attempt = async ({ email, password }: TestPerson) =>
  (await signIn(service.deps, { email, password })).kind;

const newKey = (actor: string) => service.newKey({ environment: 'live', actor });
const isRevoked = async (id: string) =>
  (await service.deps.db.apiKey.findUniqueOrThrow({ where: { id } })).revokedAt !== null;
const lastAction = async (target: string) => (await auditOf(service, target)).at(-1);

/** The key of a person and the one that was created with it. */
async function keysOf({ userId }: TestPerson) {
  const first = await newKey(`user:${userId}`);
  return [first, await newKey(`key:${first.id}`)] as const;
}

/** Of a webhook endpoint that a key created. */
async function endpointOf(key: { id: string }) {
  const { deps, organization } = service;
  const { endpoint } = await createEndpoint(deps, {
    ...{ organizationId: organization.id, environment: 'live', actor: `key:${key.id}` },
    ...{ url: 'https://example.com/hooks', events: ['*'], description: null },
  });
  const where = { id: endpoint.id };
  return {
    place: `webhook endpoint ${endpoint.id} at example.com.`,
    status: async () => (await deps.db.webhookEndpoint.findUniqueOrThrow({ where })).status,
  };
}

describe('user disable', () => {
  test('ends sessions and refuses sign-ins like a wrong password, until user enable', async () => {
    await signInMember(service, 'owner');
    const member = await signInMember(service, 'admin');
    const proof = await proofOf(service.deps.db, member.userId);
    expect(await user('disable', member)).toMatchObject({ code: 0, stdout: '' });
    expect((await member.visitor.get('/dashboard/you')).headers.location).toMatch(/sign-in/);
    expect(await attempt(member)).toBe('refused');
    // A password that was checked just before.
    const session = { sid: 'a cookie', proof, data: {}, userAgent: null, ip: null };
    await expect(startSession(service.deps, session)).rejects.toThrow();
    expect(await lastAction(member.userId)).toMatchObject({
      action: 'user.disabled',
      actor: expect.stringMatching(/^cli:./),
    });
    expect(onlyLine((await user('disable', member)).stderr)).toBe('This user is already disabled.');

    expect(await user('enable', member)).toMatchObject({ code: 0 });
    expect(await attempt(member)).toBe('signed-in');
    expect(await lastAction(member.userId)).toMatchObject({ action: 'user.enabled' });
    expect(onlyLine((await user('enable', member)).stderr)).toBe('This user is not disabled.');
  });

  test('lists the webhook endpoints that keys of the user created, or disables them with these keys', async () => {
    const member = await newPerson(service.deps, service.organization.id, 'admin');
    // The second key is made with the first one.
    const [former, current] = await keysOf(member);
    const ofFormer = await endpointOf(former);
    const ofCurrent = await endpointOf(current);
    await admin(['key', 'revoke', former.id]);
    const listed = await user('disable', member);
    for (const { place } of [ofFormer, ofCurrent])
      expect(listed.stderr).toContain(`Still sent events: ${place}`);
    expect(listed.stderr).toContain(`key revoke ${current.id}`);
    expect(await isRevoked(current.id)).toBe(false);
    await user('enable', member);
    const { stderr } = await user('disable', member, '--revoke-keys');
    expect(stderr).toContain('Revoked 1 API key that the user created.');
    expect([await isRevoked(current.id), await isRevoked(service.organization.keys.live.id)]).toEqual([
      true,
      false,
    ]);
    expect(stderr).toContain(`Disabled: ${ofCurrent.place}`);
    // A backend may have another key by now.
    expect(stderr).toContain(`Still sent events: ${ofFormer.place}`);
    expect(stderr).toContain(`key revoke ${former.id} --with-created`);
    expect([await ofFormer.status(), await ofCurrent.status()]).toEqual(['enabled', 'disabled']);
  });

  test('shows the member as disabled, who is no owner for the others', async () => {
    const { id: organizationId } = await service.addOrganization('Two owners');
    const first = await newPerson(service.deps, organizationId, 'owner');
    const second = await signInMember(service, 'owner', organizationId);
    await user('disable', first);
    const listed = await admin(['user', 'list', '--organization', organizationId]);
    expect(listed.stdout).toMatch(new RegExp(`${first.email}.*disabled`));
    const page = await second.visitor.get(`/dashboard/${organizationId}/test/settings/members`);
    expect(page.text).toMatch(new RegExp(`${first.email}(?:(?!</tr>).)*Disabled`, 's'));
    for (const command of ['disable', 'delete']) {
      const refused = await user(command, second);
      expect(refused.code).toBe(1);
      expect(onlyLine(refused.stderr)).toMatch(/at least one owner/);
    }
  });

  test('revokes the open invitations that the user made', async () => {
    const member = await signInMember(service, 'admin');
    const email = newEmail();
    const members = `/dashboard/${service.organization.id}/test/settings/members`;
    await member.visitor.post(`${members}/invitations`, { email, role: 'admin' });
    await user('disable', member);
    const invitation = await service.deps.db.invitation.findFirstOrThrow({ where: { email } });
    expect(invitation.revokedAt).not.toBeNull();
  });
});

test.each([
  [[], false],
  [['--revoke-keys'], true],
])('user remove with %j revokes the API keys of the member: %s', async (more, revokes) => {
  const member = await newPerson(service.deps, service.organization.id, 'admin');
  const [{ id }] = await keysOf(member);
  const { stderr } = await user('remove', member, '--organization', service.organization.id, ...more);
  expect([stderr.includes(`key revoke ${id}`), await isRevoked(id)]).toEqual([!revokes, revokes]);
});

describe('user delete', () => {
  const address = newCanary('the address of a person');
  const browser = newCanary('the browser of a person');
  const email = `${address.text.toLowerCase()}@example.com`;
  const canaries = [{ what: 'address', text: email }, browser];

  async function found(): Promise<string[]> {
    const cells = await everyCell(service.databaseUrl);
    const places = cells.flatMap(({ column, text }) => findCanaries(canaries, column, text));
    return [...new Set(places.map(({ place }) => place))].sort();
  }

  async function joinAs(owner: DashboardMember): Promise<DashboardVisitor> {
    const members = `/dashboard/${service.organization.id}/test/settings/members`;
    const invited = await owner.visitor.post(`${members}/invitations`, { email, role: 'admin' });
    const [, link = ''] = /data-copy="([^"]+)"/.exec(invited.text) ?? [];
    const visitor = new DashboardVisitor(service);
    const headers = { 'user-agent': browser.text };
    const joined = await visitor.post(new URL(link).pathname, { password: 'a long enough one' }, { headers });
    expect(joined.status).toBe(303);
    await visitor.get('/dashboard/you');
    return visitor;
  }

  test('leaves nothing of a person but ids, which are shown as a deleted user', async () => {
    const { db } = service.deps;
    const owner = await signInMember(service, 'owner');
    const visitor = await joinAs(owner);
    const { id } = await db.user.findFirstOrThrow({ where: { email } });
    const members = `/dashboard/${service.organization.id}/test/settings/members`;
    await owner.visitor.post(`${members}/${id}/role`, { role: 'operator' });
    await owner.visitor.post(`${members}/${id}/role`, { role: 'admin' });
    // A request, for a timeline and the audit log, and a failed sign-in.
    const created = await visitor.post(`/dashboard/${service.organization.id}/test/settings/api-keys`, {
      name: 'Theirs',
      scopes: 'refunds:read',
    });
    expect(created.status).toBe(200);
    await new DashboardVisitor(service).signIn(email, 'wrong password');
    expect(await found()).toEqual([
      'public.audit_log.detail',
      'public.invitation.email',
      'public.session.user_agent',
      'public.user.email',
    ]);
    const before = await db.auditLog.findMany({ orderBy: { id: 'asc' } });

    const deleted = await admin(['user', 'delete', '--email', email.toUpperCase()]);
    expect(deleted.code, deleted.stderr).toBe(0);
    expect(deleted.stderr).toContain('Revoked 1 API key that the user created.');
    expect(await found()).toEqual([]);
    const keys = await db.apiKey.findMany({ where: { createdBy: `user:${id}` } });
    expect(keys.map(({ revokedAt }) => revokedAt)).toEqual([expect.any(Date)]);
    // It still keeps the owner from approving what the person's other accounts request.
    expect(await db.invitation.findMany({ where: { acceptedBy: `user:${id}` } })).toMatchObject([
      { email: '(erased)', invitedBy: `user:${owner.userId}` },
    ]);
    expect(await db.user.count({ where: { id } })).toBe(0);
    expect((await visitor.get('/dashboard/you')).headers.location).toMatch(/sign-in/);
    const after = await db.auditLog.findMany({ orderBy: { id: 'asc' } });
    const entries = after.slice(before.length);
    expect(entries.map(({ action }) => action)).toEqual(['key.revoked', 'user.deleted']);
    expect(entries.at(-1)).toMatchObject({
      ...{ action: 'user.deleted', target: id, actor: expect.stringMatching(/^cli:./), detail: {} },
      ...{ organizationId: service.organization.id },
    });
    const withoutAddress = (entries: typeof before) =>
      entries.map((each) => JSON.stringify(each).replaceAll(email, '(erased)'));
    expect(withoutAddress(after.slice(0, before.length))).toEqual(withoutAddress(before));

    const log = await owner.visitor.get(members.replace(/members$/, 'audit-log'));
    expect(log.text).toMatch(new RegExp(`actor=user%3A${id}"><bdi>Deleted user</bdi></a>`));
    expect(log.text).toContain('(erased)');
    const again = await admin(['user', 'delete', '--email', email]);
    expect(onlyLine(again.stderr)).toBe('Nothing is stored about this address.');
  });

  test('deletes accepted invitations that no organization counts any more', async () => {
    const { db } = service.deps;
    const person = await newPerson(service.deps, service.organization.id, 'viewer');
    const organizationId = service.organization.id;
    const accepted = (days: number) => ({
      ...{
        id: newId('inv'),
        organizationId,
        email: person.email,
        role: 'viewer' as const,
        expiresAt: new Date(),
      },
      ...{ tokenHash: Uint8Array.from(randomBytes(32)), invitedBy: 'user:usr_x', createdAt: new Date(0) },
      ...{ acceptedAt: new Date(Date.now() - days * 86_400_000), acceptedBy: `user:${person.userId}` },
    });
    const [old, recent] = [accepted(91), accepted(89)];
    await db.invitation.createMany({ data: [old, recent] });
    expect((await user('delete', person)).code).toBe(0);
    const left = await db.invitation.findMany({ where: { acceptedBy: `user:${person.userId}` } });
    expect(left).toMatchObject([{ id: recent.id, email: '(erased)' }]);
  });

  test('keeps an open invitation of the address and says so', async () => {
    const owner = await signInMember(service, 'owner');
    const invited = newEmail();
    const members = `/dashboard/${service.organization.id}/test/settings/members`;
    await owner.visitor.post(`${members}/invitations`, { email: invited, role: 'viewer' });
    const { id } = await service.deps.db.invitation.findFirstOrThrow({ where: { email: invited } });
    expect((await user('delete', { email: invited })).stderr).toContain(
      `${id} of ${service.organization.id} still invites`,
    );
    await owner.visitor.post(`${members}/invitations/${id}/revoke`);
    expect((await user('delete', { email: invited })).stderr).not.toContain('still invites');
    expect(await service.deps.db.invitation.count({ where: { email: invited } })).toBe(0);
  });
});
