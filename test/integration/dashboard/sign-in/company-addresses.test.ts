import { beforeEach, describe, expect, test } from 'vitest';
import { actorOf } from '#shared/audit/actors.ts';
import { disableProvider } from '#shared/people/company-sign-in/provider.ts';
import { invite } from '#shared/people/members/invitations.ts';
import { removeMember } from '#shared/people/members/members.ts';
import { resetPassword } from '#shared/people/sign-in/passwords.ts';
import { readApprovalRefusal } from '#shared/refunds/decisions/four-eyes.ts';
import { pagesOf, useCompanySignIn } from '#test/support/company-sign-in/company-sign-in-stage.ts';
import type { DashboardVisitor } from '#test/support/dashboard/dashboard-visitor.ts';
import { newPerson } from '#test/support/people.ts';
import { useService } from '#test/support/use-service.ts';

// A provider vouches for an address in its organization alone, so that two users may have it.

const service = useService({ workers: 0 });
const company = useCompanySignIn(service);
const { actAs, signIn, newVisitor, membersByEmail } = company;
let organizationId: string;
beforeEach(() => {
  organizationId = company.organizationId;
});

const acting = { administration: 'test' };
const password = 'a password of their own';

async function inviteTo(at: string, email: string): Promise<string> {
  return (await invite(service.deps, { organizationId: at, acting, email, role: 'admin' })).token;
}

/** Accepts an invitation with a new password, as someone who is not signed in. */
async function acceptAsNewUser(token: string): Promise<DashboardVisitor> {
  const person = newVisitor();
  await person.get(`/dashboard/invitation/${token}`);
  expect((await person.post(`/dashboard/invitation/${token}`, { password })).status).toBe(303);
  return person;
}

const remove = (at: string, userId: string) =>
  removeMember(service.deps, { organizationId: at, userId, acting });

test("keeps no one out of other organizations by the provider's word for their address", async () => {
  await signIn(newVisitor());
  const { sub, email } = company.provider.account;
  const token = await inviteTo(service.organization.id, email);
  const person = await acceptAsNewUser(token);
  expect((await newVisitor().signIn(email, password)).status).toBe(303);
  const [first, second] = await membersByEmail();
  expect(first?.userId).not.toBe(second?.userId);
  // Each goes on as before.
  actAs(['admins'], { sub, email });
  const employee = newVisitor();
  await signIn(employee);
  expect((await employee.get(pagesOf(organizationId))).status).toBe(200);
  expect((await employee.get(pagesOf(service.organization.id))).status).toBe(404);
  expect((await person.get(pagesOf(organizationId))).status).toBe(404);
  // Nor is the person, invited here as well, a second self beside the employee.
  await expect(inviteTo(organizationId, email)).rejects.toThrow('already a member');
});

describe('with another user of the same address elsewhere', () => {
  /** Signs in with the provider, and joins another organization with a password. */
  async function joinBoth() {
    await signIn(newVisitor());
    const { email } = company.provider.account;
    const employee = (await membersByEmail())[0]?.userId ?? '';
    const token = await inviteTo(service.organization.id, email);
    const person = await acceptAsNewUser(token);
    const others = await membersByEmail();
    const own = others.find(({ userId }) => userId !== employee)?.userId ?? '';
    return { email, employee, own, person };
  }

  test.each(['stayed there', 'left as well'])(
    'a removed member rejoins as the same user when the other %s',
    async (what) => {
      const { employee, own } = await joinBoth();
      await remove(organizationId, employee);
      if (what !== 'stayed there') await remove(service.organization.id, own);
      expect((await signIn(newVisitor())).status).toBe(303);
      const here = await service.deps.db.membership.findMany({ where: { organizationId } });
      expect(here.map(({ userId }) => userId)).toEqual([employee]);
    },
  );

  test('an earlier invitation makes no second self beside the employee, and brings no one back who is removed', async () => {
    const { email } = company.provider.account;
    const token = await inviteTo(organizationId, email);
    const { person, employee } = await joinBoth();
    const accept = async (visitor: DashboardVisitor) =>
      (await visitor.post(`/dashboard/invitation/${token}`, { password })).status;
    expect(await accept(person)).toBe(404);
    await remove(organizationId, employee);
    expect(await accept(newVisitor())).toBe(404);
    expect(await accept(person)).toBe(404);
  });

  test('an operator sets no password of the employee, who would sign in as the other', async () => {
    const { employee, email } = await joinBoth();
    const user = { userId: employee, email };
    const reset = resetPassword(service.deps, { user, password: 'a password of an operator', actor: 'test' });
    await expect(reset).rejects.toThrow('another user signs in with this address');
    expect((await newVisitor().signIn(email, password)).status).toBe(303);
  });

  test('counts both as one person who may not approve what the other requested', async () => {
    const { employee, own, email, person } = await joinBoth();
    await remove(organizationId, employee);
    const token = await inviteTo(organizationId, email);
    expect((await person.post(`/dashboard/invitation/${token}`)).status).toBe(303);
    const requester = actorOf({ userId: employee });
    const approve = (userId: string) =>
      readApprovalRefusal(service.deps, { organizationId, requester }, requester, actorOf({ userId }));
    expect(await approve(own)).toContain('have the same address');
    const { userId } = await newPerson(service.deps, organizationId, 'operator');
    expect(await approve(userId)).toBeNull();
  });

  test('an invited person who left everything takes over one user, whose address is then theirs', async () => {
    const { employee, own, email } = await joinBoth();
    await remove(organizationId, employee);
    await remove(service.organization.id, own);
    const token = await inviteTo(organizationId, email);
    await acceptAsNewUser(token);
    expect((await newVisitor().signIn(email, password)).status).toBe(303);
    expect(await membersByEmail()).toHaveLength(1);
  });
});

test('a former member whom the provider made joins no other organization in the session that is left', async () => {
  const former = newVisitor();
  await signIn(former);
  const { email } = company.provider.account;
  const [member] = await membersByEmail();
  await remove(organizationId, member?.userId ?? '');
  const token = await inviteTo(service.organization.id, email);
  const refused = await former.post(`/dashboard/invitation/${token}`);
  expect([refused.status, refused.text]).toEqual([400, expect.stringContaining('that one only')]);
  await acceptAsNewUser(token);
  expect((await newVisitor().signIn(email, password)).status).toBe(303);
});

test('a member whom the provider made signs in with the password that an operator sets', async () => {
  await signIn(newVisitor());
  const { email } = company.provider.account;
  await disableProvider(service.deps, { organizationId, actor: 'test' });
  const [member] = await membersByEmail();
  const user = { userId: member?.userId ?? '', email };
  await resetPassword(service.deps, { user, password: 'a password of an operator', actor: 'test' });
  const visitor = newVisitor();
  expect((await visitor.signIn(email, 'a password of an operator')).status).toBe(303);
  expect((await visitor.get(pagesOf(organizationId))).status).toBe(200);
});
