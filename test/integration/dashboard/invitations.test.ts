import { describe, expect, test } from 'vitest';
import { createOrganization } from '#shared/organizations/create-organization.ts';
import { invite } from '#shared/people/members/invitations.ts';
import { signInMember } from '../../support/dashboard/dashboard-member.ts';
import { DashboardVisitor } from '../../support/dashboard/dashboard-visitor.ts';
import { newEmail, newPerson } from '../../support/people.ts';
import { useService } from '../../support/use-service.ts';

const service = useService({ workers: 0 });
const you = '/dashboard/you';
const newPassword = 'a quite different password';

describe('an invitation', () => {
  async function inviteTo(email: string, organizationId = service.organization.id): Promise<string> {
    const request = { organizationId, acting: { administration: 'test' }, email, role: 'operator' } as const;
    return `/dashboard/invitation/${(await invite(service.deps, request)).token}`;
  }

  test('makes a new user a member, signs them in, and can be used once', async () => {
    const link = await inviteTo('new@example.com');
    const visitor = new DashboardVisitor(service);
    expect((await visitor.get(link)).text).toContain('new@example.com');
    const refused = await visitor.post(link, { password: 'short' });
    expect(refused.status).toBe(400);
    expect(refused.text).toContain('id="password-problem"');
    const page = await visitor.post(link, { password: newPassword });
    expect(page.headers.location).toBe(`/dashboard/${service.organization.id}/test`);
    expect((await visitor.get(you)).text).toContain('new@example.com');
    const again = await new DashboardVisitor(service).get(link);
    expect(again.status).toBe(404);
    expect(again.text).toContain('Invitation no longer valid');
    expect((await visitor.get('/dashboard/invitation/made-up')).status).toBe(404);
  });

  test('for an existing user can only be accepted by that user', async () => {
    const { id: otherId } = await createOrganization(service.deps, { name: 'Other', actor: 'test' });
    const known = await signInMember(service, 'viewer', otherId);
    const link = await inviteTo(known.email);
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
    const owner = await signInMember(service, 'owner');
    const { id: otherId } = await createOrganization(service.deps, { name: 'Other', actor: 'test' });
    const { email: known } = await newPerson(service.deps, otherId, 'viewer');
    const members = `/dashboard/${service.organization.id}/test/settings/members/invitations`;
    const views: string[][] = [];
    for (const email of [known, newEmail()]) {
      const { text } = await owner.visitor.post(members, { email, role: 'viewer' });
      expect(text).toContain('Invite link created');
      const [, link = ''] = /data-copy="([^"]+)"/.exec(text) ?? [];
      const { pathname } = new URL(link);
      const pages = [await new DashboardVisitor(service).get(pathname), await owner.visitor.get(pathname)];
      const [token = ''] = /[^/]+$/.exec(pathname) ?? [];
      views.push(pages.map((page) => page.text.replaceAll(email, 'ADDRESS').replaceAll(token, 'TOKEN')));
    }
    expect(views[0]).toEqual(views[1]);
  });
});
