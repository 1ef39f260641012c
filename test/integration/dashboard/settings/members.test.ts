import { beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { createApiKey } from '#shared/organizations/api-keys.ts';
import { auditOf } from '#test/support/audit-log.ts';
import { type DashboardMember, signInMember } from '#test/support/dashboard/dashboard-member.ts';
import { DashboardVisitor } from '#test/support/dashboard/dashboard-visitor.ts';
import { newEmail, newPerson } from '#test/support/people.ts';
import { expectNotInDatabase } from '#test/support/stores/database-content.ts';
import { useService } from '#test/support/use-service.ts';
import { newEndpoint } from '#test/support/webhooks/api-endpoints.ts';

const service = useService({ workers: 0 });

let owner: DashboardMember;
let admin: DashboardMember;
let viewer: DashboardMember;
let members: string;

beforeAll(async () => {
  owner = await signInMember(service, 'owner');
  admin = await signInMember(service, 'admin');
  viewer = await signInMember(service, 'viewer');
  members = `/dashboard/${service.organization.id}/test/settings/members`;
});

const lastEntryOf = async (target: string) => (await auditOf(service, target)).at(-1);

/** The table row that contains a text. */
function rowOf(page: string, text: string): string {
  return page.split(/<tr>|<\/tr>/).find((row) => row.includes(text)) ?? '';
}

async function invite(by: DashboardMember, email: string, role: string) {
  const page = await by.visitor.post(`${members}/invitations`, { email, role });
  const [, link = ''] = /data-copy="([^"]*\/dashboard\/invitation\/[^"]+)"/.exec(page.text) ?? [];
  return { page, path: link === '' ? '' : new URL(link).pathname };
}

async function invitationOf(email: string) {
  return await service.deps.db.invitation.findFirstOrThrow({ where: { email }, orderBy: { id: 'desc' } });
}

describe('members', () => {
  test('are visible to everyone, with only the permitted actions', async () => {
    const { status, text } = await viewer.visitor.get(members);
    expect(status).toBe(200);
    for (const { email } of [owner, admin, viewer]) expect(text).toContain(email);
    for (const action of ['<select', 'Remove']) expect(text).not.toContain(action);
    const asAdmin = (await admin.visitor.get(members)).text;
    expect(rowOf(asAdmin, viewer.email)).toContain('<select');
    expect(rowOf(asAdmin, owner.email)).not.toContain('<select');
    expect(asAdmin).not.toContain('<option value="owner"');
  });

  test('are invited by a link with PUBLIC_URL, if it is set', async () => {
    const settings = service.deps.settings as { PUBLIC_URL: string | null };
    settings.PUBLIC_URL = 'https://refunds.example.com';
    onTestFinished(() => {
      settings.PUBLIC_URL = null;
    });
    const { page } = await invite(admin, newEmail(), 'viewer');
    expect(page.text).toContain('data-copy="https://refunds.example.com/dashboard/invitation/');
  });

  test('have a new role from their next request on', async () => {
    const { userId, visitor } = await signInMember(service, 'viewer');
    const answer = await admin.visitor.post(`${members}/${userId}/role`, { role: 'admin' });
    expect(answer).toMatchObject({ status: 303, headers: { location: members }, done: 'role-changed' });
    expect((await visitor.get(members)).text).toContain('Invite member');
    const refused = await admin.visitor.post(`${members}/${userId}/role`, { role: 'emperor' });
    expect(refused).toMatchObject({ status: 400, text: expect.stringContaining('Select a role.') });
    const entry = { action: 'member.role_changed', actor: `user:${admin.userId}` };
    expect(await lastEntryOf(userId)).toMatchObject(entry);
  });

  test('who are removed lose access at once and keep their name in the audit log', async () => {
    const { userId, email, visitor } = await signInMember(service, 'admin');
    const invited = newEmail();
    await visitor.post(`${members}/invitations`, { email: invited, role: 'viewer' });
    expect((await admin.visitor.post(`${members}/${userId}/remove`)).status).toBe(303);
    expect((await visitor.get(members)).status).toBe(404);
    expect((await admin.visitor.get(members)).text).not.toContain(invited);
    const entry = { action: 'member.removed', actor: `user:${admin.userId}` };
    expect(await lastEntryOf(userId)).toMatchObject(entry);
    const auditLog = await admin.visitor.get(members.replace(/members$/, 'audit-log'));
    expect(auditLog.text).toContain(`${email} (former member)`);
  });

  test('who are removed have the selected ones of their API keys revoked, and no others', async () => {
    const { userId, email } = await signInMember(service, 'admin');
    const newKey = async (creator: string) =>
      await createApiKey(service.deps, {
        organizationId: service.organization.id,
        ...{ environment: 'live', actor: `user:${creator}`, name: 'Shop' },
      });
    const [copied, used, others] = [await newKey(userId), await newKey(userId), await newKey(owner.userId)];
    const endpoints = [await newEndpoint(service), await newEndpoint(service)];
    const endpointNow = async (index: 0 | 1) =>
      await service.deps.db.webhookEndpoint.findUniqueOrThrow({ where: { id: endpoints[index]?.id ?? '' } });
    for (const [index, { id }] of [copied, used].entries()) {
      const where = { id: endpoints[index]?.id ?? '' };
      await service.deps.db.webhookEndpoint.update({ where, data: { createdBy: `key:${id}` } });
    }
    const row = rowOf((await admin.visitor.get(members)).text, email);
    expect(row).toContain('Their keys created webhook endpoints at 127.0.0.1:9,');
    for (const { id } of [copied, used]) expect(row).toContain(`name="revokedKeys" value="${id}"`);
    expect(row).not.toContain(others.id);
    expect(row).not.toContain('checked');
    const shown = [copied, used].map(({ id }): [string, string] => ['shownKeys', id]);
    for (const [name, id] of shown) expect(row).toContain(`name="${name}" value="${id}"`);
    const selected = [copied, others].map(({ id }): [string, string] => ['revokedKeys', id]);
    const late = await newKey(userId);
    const removed = await admin.visitor.post(`${members}/${userId}/remove`, [...shown, ...selected]);
    expect(removed.status).toBe(303);
    const isRevoked = async ({ id }: { id: string }) =>
      (await service.deps.db.apiKey.findUniqueOrThrow({ where: { id } })).revokedAt !== null;
    expect(await Promise.all([copied, used, others].map(isRevoked))).toEqual([true, false, false]);
    expect([(await endpointNow(0)).status, (await endpointNow(1)).status]).toEqual(['disabled', 'enabled']);
    expect(await isRevoked(late), 'a key that they created after the page was shown').toBe(true);
    const entry = { action: 'key.revoked', actor: `user:${admin.userId}` };
    expect(await lastEntryOf(copied.id)).toMatchObject(entry);
  });

  test('may leave, and the last owner learns what to do first', async () => {
    const { userId, visitor } = await signInMember(service, 'viewer');
    const left = await visitor.post(`${members}/leave`);
    expect(left).toMatchObject({ status: 303, headers: { location: '/dashboard' } });
    expect(await service.deps.db.membership.count({ where: { userId } })).toBe(0);
    const refused = await owner.visitor.post(`${members}/leave`);
    expect(refused.status).toBe(400);
    expect(refused.text).toContain('Make another member an owner first.');
  });
});

describe('invitations', () => {
  test('show their link once, which is not stored', async () => {
    const email = newEmail();
    const { page, path } = await invite(admin, email, 'operator');
    expect(page).toMatchObject({ status: 200, headers: { 'cache-control': 'no-store' } });
    expect(page.text).toContain('Anyone with the link can join as operator');
    await expectNotInDatabase(service.databaseUrl, path.split('/').at(-1) ?? '');
    const later = (await viewer.visitor.get(members)).text;
    expect(later).not.toContain(path);
    for (const text of [admin.email, 'operator']) expect(rowOf(later, email)).toContain(text);
    const created = { action: 'invitation.created', actor: `user:${admin.userId}` };
    expect(await auditOf(service, (await invitationOf(email)).id)).toMatchObject([created]);
  });

  test('stop working when they are revoked', async () => {
    const email = newEmail();
    const { path } = await invite(admin, email, 'viewer');
    const { id } = await invitationOf(email);
    const answer = await admin.visitor.post(`${members}/invitations/${id}/revoke`);
    expect([answer.headers.location, answer.done]).toEqual([members, 'invitation-revoked']);
    expect((await new DashboardVisitor(service).get(path)).status).toBe(404);
    const entry = { action: 'invitation.revoked', actor: `user:${admin.userId}` };
    expect(await lastEntryOf(id)).toMatchObject(entry);
  });

  test('show a problem of the address at its field, escaped, with the rest of the form', async () => {
    const { page } = await invite(admin, '"><script>alert(1)</script>', 'operator');
    expect(page.status).toBe(400);
    expect(page.text).toContain('Must be a valid email address.');
    expect(page.text).toContain('value="&quot;>&lt;script>alert(1)&lt;/script>"');
    expect(page.text).not.toContain('<script>');
    expect(page.text).toContain('<option value="operator" selected');
    expect((await invite(admin, viewer.email, 'viewer')).page.text).toContain('Is already a member.');
    expect((await invite(admin, newEmail(), 'owner')).page.status).toBe(403);
  });
});

describe('an invitation', () => {
  const newPassword = 'a quite different password';

  test('makes a new user a member, signs them in, and can be used once', async () => {
    const link = (await invite(admin, 'new@example.com', 'operator')).path;
    const visitor = new DashboardVisitor(service);
    expect((await visitor.get(link)).text).toContain('new@example.com');
    const refused = await visitor.post(link, { password: 'short' });
    expect(refused.status).toBe(400);
    expect(refused.text).toContain('id="password-problem"');
    const page = await visitor.post(link, { password: newPassword });
    expect(page.headers.location).toBe(`/dashboard/${service.organization.id}/test`);
    expect((await visitor.get('/dashboard/you')).text).toContain('new@example.com');
    const again = await new DashboardVisitor(service).get(link);
    expect(again.status).toBe(404);
    expect(again.text).toContain('Invitation no longer valid');
    expect((await visitor.get('/dashboard/invitation/made-up')).status).toBe(404);
  });

  test('for an existing user can only be accepted by that user', async () => {
    const { id: otherId } = await service.addOrganization('Other');
    const known = await signInMember(service, 'viewer', otherId);
    const link = (await invite(admin, known.email, 'operator')).path;
    const { visitor: other } = await signInMember(service, 'viewer');
    expect((await other.get(link)).text).toContain('Sign out, then open this link again');
    expect((await other.post(link, { password: newPassword })).status).toBe(400);
    expect((await new DashboardVisitor(service).post(link, { password: newPassword })).status).toBe(400);
    const { visitor } = known;
    await visitor.get(link);
    expect((await visitor.post(link)).status).toBe(303);
    const { text } = await visitor.get('/dashboard');
    expect(text).toContain('Other');
    expect(text).toContain('Test organization');
  });

  test('shows neither when it is made nor by its link whether its address has a user elsewhere', async () => {
    const { id: otherId } = await service.addOrganization('Other');
    const { email: known } = await newPerson(service.deps, otherId, 'viewer');
    const views: string[][] = [];
    for (const email of [known, newEmail()]) {
      const { path } = await invite(owner, email, 'viewer');
      const pages = [await new DashboardVisitor(service).get(path), await owner.visitor.get(path)];
      const [token = ''] = /[^/]+$/.exec(path) ?? [];
      views.push(pages.map((page) => page.text.replaceAll(email, 'ADDRESS').replaceAll(token, 'TOKEN')));
    }
    expect(views[0]).toEqual(views[1]);
  });
});
