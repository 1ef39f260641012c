import { beforeAll, describe, expect, test } from 'vitest';
import { auditOf } from '../../support/audit-log.ts';
import { type DashboardMember, signInMember } from '../../support/dashboard/dashboard-member.ts';
import { DashboardVisitor } from '../../support/dashboard/dashboard-visitor.ts';
import { newEmail } from '../../support/people.ts';
import { expectNotInDatabase } from '../../support/stores/database-content.ts';
import { useService } from '../../support/use-service.ts';

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

const roleOf = async (userId: string) =>
  (await service.deps.db.membership.findFirst({ where: { userId } }))?.role ?? null;

/** The one part of a page that names somebody: a row of a table. */
function rowOf(text: string, name: string): string {
  return text.split(/<tr>|<\/tr>/).find((row) => row.includes(name)) ?? '';
}

async function invite(by: DashboardMember, email: string, role: string) {
  const page = await by.visitor.post(`${members}/invitations`, { email, role });
  const [, link = ''] = /data-copy="([^"]*\/dashboard\/invitation\/[^"]+)"/.exec(page.text) ?? [];
  return { page, link };
}

async function invitationOf(email: string) {
  return await service.deps.db.invitation.findFirstOrThrow({ where: { email }, orderBy: { id: 'desc' } });
}

describe('members', () => {
  test('are shown to everybody with their roles; what a role may not do is not offered', async () => {
    const { status, text } = await viewer.visitor.get(members);
    expect(status).toBe(200);
    for (const { email } of [owner, admin, viewer]) expect(text).toContain(email);
    expect(text).not.toContain('<select');
    expect(text).not.toContain('Remove');
    const asAdmin = (await admin.visitor.get(members)).text;
    expect(rowOf(asAdmin, viewer.email)).toContain('<select');
    expect(rowOf(asAdmin, owner.email)).not.toContain('<select');
    expect(asAdmin).not.toContain('<option value="owner"');
  });

  test('get another role from the next click on', async () => {
    const { userId, visitor } = await signInMember(service, 'viewer');
    const answer = await admin.visitor.post(`${members}/${userId}/role`, { role: 'admin' });
    expect(answer).toMatchObject({ status: 303, headers: { location: `${members}?done=role` } });
    expect((await visitor.get(members)).text).toContain('Invite somebody');
    const acts = await auditOf(service, userId);
    expect(acts.at(-1)).toMatchObject({ action: 'member.role_changed', actor: `user:${admin.userId}` });
  });

  test('a role that there is none of is refused on the page', async () => {
    const answer = await admin.visitor.post(`${members}/${viewer.userId}/role`, { role: 'emperor' });
    expect(answer.status).toBe(400);
    expect(answer.text).toContain('Choose one of the roles.');
  });

  test('owners are made and changed by owners alone, and nobody changes the own role', async () => {
    const upgrade = await admin.visitor.post(`${members}/${viewer.userId}/role`, { role: 'owner' });
    const change = await admin.visitor.post(`${members}/${owner.userId}/role`, { role: 'viewer' });
    const removal = await admin.visitor.post(`${members}/${owner.userId}/remove`);
    const own = await owner.visitor.post(`${members}/${owner.userId}/role`, { role: 'viewer' });
    expect([upgrade, change, removal, own].map(({ status }) => status)).toEqual([403, 403, 403, 403]);
    expect([await roleOf(viewer.userId), await roleOf(owner.userId)]).toEqual(['viewer', 'owner']);
  });

  test('who is removed is out at once, and is still named in what they did', async () => {
    const { userId, email, visitor } = await signInMember(service, 'admin');
    await visitor.post(`${members}/${viewer.userId}/role`, { role: 'viewer' });
    const invited = newEmail();
    await visitor.post(`${members}/invitations`, { email: invited, role: 'viewer' });
    expect((await admin.visitor.post(`${members}/${userId}/remove`)).status).toBe(303);
    expect((await visitor.get(members)).status).toBe(404);
    expect((await admin.visitor.get(members)).text).not.toContain(invited);
    const acts = await auditOf(service, userId);
    expect(acts.at(-1)).toMatchObject({ action: 'member.removed', actor: `user:${admin.userId}` });
    const log = await admin.visitor.get(members.replace(/members$/, 'audit-log'));
    expect(log.text).toContain(`${email} (has left)`);
  });

  test('everybody may leave, but for the last owner', async () => {
    const { userId, visitor } = await signInMember(service, 'viewer');
    expect(await visitor.post(`${members}/leave`)).toMatchObject({
      status: 303,
      headers: { location: '/dashboard' },
    });
    expect(await roleOf(userId)).toBeNull();
    const answer = await owner.visitor.post(`${members}/leave`);
    expect(answer.status).toBe(400);
    expect(answer.text).toContain('Make somebody else an owner first.');
    expect(await roleOf(owner.userId)).toBe('owner');
  });

  test('somebody of another organization is no member here', async () => {
    const other = await signInMember(service, 'viewer', (await service.addOrganization('Else')).id);
    for (const act of ['role', 'remove']) {
      const answer = await owner.visitor.post(`${members}/${other.userId}/${act}`, { role: 'admin' });
      expect(answer.status).toBe(404);
    }
    expect(await roleOf(other.userId)).toBe('viewer');
  });
});

describe('invitations', () => {
  test('the link is shown once, leads in, and its token is stored nowhere', async () => {
    const email = newEmail();
    const { page, link } = await invite(admin, email, 'operator');
    expect(page).toMatchObject({ status: 200, headers: { 'cache-control': 'no-store' } });
    expect(page.text).toContain('Whoever has it can join');
    const { pathname } = new URL(link);
    await expectNotInDatabase(service.settings.DATABASE_URL, pathname.split('/').at(-1) ?? '');
    const later = (await viewer.visitor.get(members)).text;
    expect(later).not.toContain(pathname);
    expect(rowOf(later, email)).toContain(admin.email);
    expect(rowOf(later, email)).toContain('operator');

    const password = 'a long enough password';
    const joined = await new DashboardVisitor(service).post(pathname, { password }, { csrfToken: null });
    expect(joined.status).toBe(303);
    expect((await viewer.visitor.get(members)).text).not.toContain('Open invitations');
    const acts = await auditOf(service, (await invitationOf(email)).id);
    expect(acts).toMatchObject([{ action: 'invitation.created', actor: `user:${admin.userId}` }]);
  });

  test('where scripts run, the link takes its place in the page', async () => {
    const headers = { 'hx-request': 'true' };
    const fields = { email: newEmail(), role: 'viewer' };
    const { text } = await admin.visitor.post(`${members}/invitations`, fields, { headers });
    expect(text).toMatch(/^<div id="members"/);
    expect(text).toContain('/dashboard/invitation/');
  });

  test('a revoked one leads nowhere', async () => {
    const email = newEmail();
    const { link } = await invite(admin, email, 'viewer');
    const { id } = await invitationOf(email);
    const answer = await admin.visitor.post(`${members}/invitations/${id}/revoke`);
    expect(answer.headers.location).toBe(`${members}?done=revoked`);
    expect((await new DashboardVisitor(service).get(new URL(link).pathname)).status).toBe(404);
    const acts = await auditOf(service, id);
    expect(acts.at(-1)).toMatchObject({ action: 'invitation.revoked', actor: `user:${admin.userId}` });
  });

  test('what cannot be an address is told at its field, as text, with what was entered', async () => {
    const { page } = await invite(admin, '"><script>alert(1)</script>', 'operator');
    expect(page.status).toBe(400);
    expect(page.text).toContain('Not an e-mail address.');
    expect(page.text).toContain('value="&quot;>&lt;script>alert(1)&lt;/script>"');
    expect(page.text).not.toContain('<script>');
    expect(page.text).toContain('<option value="operator" selected');
  });

  test('a member is not invited, and an owner by an owner alone', async () => {
    const again = await invite(admin, viewer.email, 'viewer');
    expect(again.page.status).toBe(400);
    expect(again.page.text).toContain('This person is a member already.');
    expect((await invite(admin, newEmail(), 'owner')).page.status).toBe(403);
    expect((await invite(owner, newEmail(), 'owner')).page.status).toBe(200);
  });
});
