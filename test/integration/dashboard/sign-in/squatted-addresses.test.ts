import { beforeEach, describe, expect, test } from 'vitest';
import { invite } from '../../../../shared/people/members/invitations.ts';
import { findMembership, removeMember } from '../../../../shared/people/members/members.ts';
import { signIn } from '../../../../shared/people/sign-in/sign-in.ts';
import { auditOf } from '../../../support/audit-log.ts';
import { signInMember } from '../../../support/dashboard/dashboard-member.ts';
import { DashboardVisitor } from '../../../support/dashboard/dashboard-visitor.ts';
import { newEmail, newPerson } from '../../../support/people.ts';
import { ownerCliOf } from '../../../support/processes/admin-cli.ts';
import { useService } from '../../../support/use-service.ts';

const service = useService({ workers: 0 });
const admin = ownerCliOf(service);
const password = 'what the person chose';
const squattersPassword = 'what the squatter chose';

/** The organization of the squatter, who is its admin. */
let elsewhere: string;
/** The address of a person whom the squatter invited to it, and then joined as. */
let email: string;
let squatter: DashboardVisitor;
let squatterId: string;

const userOf = async (address: string) =>
  await service.deps.db.user.findUniqueOrThrow({ where: { email: address } });
const membershipOf = (userId: string, organizationId = service.organization.id) =>
  findMembership(service.deps.db, userId, organizationId);
const attempt = async (address: string, secret: string) =>
  (await signIn(service.deps, { email: address, password: secret })).kind;

async function linkTo(address: string, organizationId = service.organization.id): Promise<string> {
  const request = {
    organizationId,
    acting: { administration: 'test' },
    email: address,
    role: 'admin',
  } as const;
  return `/dashboard/invitation/${(await invite(service.deps, request)).token}`;
}

/** One that only the squatter has. */
async function addSecondFactor(userId: string): Promise<void> {
  const secret = { encryptedSecret: new Uint8Array(8), encryptionKeyId: 'none' };
  await service.deps.db.secondFactor.create({
    data: { userId, ...secret, lastStep: 0, recoveryHashes: [], enabledAt: new Date() },
  });
}

beforeEach(async () => {
  elsewhere = (await service.addOrganization('Elsewhere')).id;
  await newPerson(service.deps, elsewhere, 'owner');
  email = newEmail();
  squatter = new DashboardVisitor(service);
  const taken = await squatter.post(await linkTo(email, elsewhere), { password: squattersPassword });
  expect(taken.status).toBe(303);
  squatterId = (await userOf(email)).id;
});

describe('an admin who invites an address', () => {
  const shown = (text: string, address: string, token: string) =>
    text.replaceAll(address, 'ADDRESS').replaceAll(token, 'TOKEN');

  test('sees neither from the invitation nor from its link whether the email address has a user elsewhere', async () => {
    const owner = await signInMember(service, 'owner');
    const members = `/dashboard/${service.organization.id}/test/settings/members/invitations`;
    const views: string[][] = [];
    for (const address of [email, newEmail()]) {
      const { text } = await owner.visitor.post(members, { email: address, role: 'viewer' });
      const [, link = ''] = /data-copy="([^"]+)"/.exec(text) ?? [];
      const path = new URL(link).pathname;
      const token = path.split('/').at(-1) ?? '';
      const opened = await new DashboardVisitor(service).get(path);
      const signedIn = await owner.visitor.get(path);
      views.push([opened.text, signedIn.text].map((page) => shown(page, address, token)));
      expect(text).toContain('Invite link created');
    }
    expect(views[0]).toEqual(views[1]);
  });

  test('cannot take over an account with the link, whose holder keeps it and joins nothing', async () => {
    const link = await linkTo(email);
    const refused = await new DashboardVisitor(service).post(link, { password });
    expect(refused.status).toBe(400);
    expect(refused.text).toContain('ask the operator of this service to free it');
    expect(await attempt(email, password)).toBe('refused');
    expect(await attempt(email, squattersPassword)).toBe('signed-in');
    expect((await squatter.get('/dashboard/you')).status).toBe(200);
    expect(await membershipOf(squatterId)).toBeNull();
    expect((await squatter.get(`/dashboard/${service.organization.id}/test`)).status).toBe(404);
  });
});

describe('a person whose address was squatted', () => {
  test('joins with the link once an operator has deleted the account, which then opens nothing', async () => {
    const link = await linkTo(email);
    const deleted = await admin(['user', 'delete', '--email', email]);
    expect(deleted.code, deleted.stderr).toBe(0);
    const person = new DashboardVisitor(service);
    expect((await person.post(link, { password })).status).toBe(303);
    const { id } = await userOf(email);
    expect(id).not.toBe(squatterId);
    expect(await membershipOf(id)).toMatchObject({ role: 'admin' });
    expect(await membershipOf(id, elsewhere)).toBeNull();
    expect(await attempt(email, squattersPassword)).toBe('refused');
    expect((await squatter.get('/dashboard/you')).headers.location).toMatch(/sign-in/);
  });

  test('takes over the account with the link once it belongs to no organization', async () => {
    const link = await linkTo(email);
    await addSecondFactor(squatterId);
    const acting = { administration: 'test' };
    await removeMember(service.deps, { organizationId: elsewhere, userId: squatterId, acting });
    const person = new DashboardVisitor(service);
    expect((await person.post(link, { password })).status).toBe(303);
    expect((await person.get('/dashboard/you')).text).toContain(email);
    expect((await userOf(email)).id).toBe(squatterId);
    expect(await membershipOf(squatterId)).toMatchObject({ role: 'admin' });
    expect(await attempt(email, squattersPassword)).toBe('refused');
    expect((await squatter.get('/dashboard/you')).headers.location).toMatch(/sign-in/);
    const joined = (await auditOf(service, squatterId)).at(-1);
    expect(joined).toMatchObject({ action: 'member.added', organizationId: service.organization.id });
  });

  test('does not take over an account that an operator has disabled', async () => {
    const link = await linkTo(email);
    await removeMember(service.deps, {
      organizationId: elsewhere,
      userId: squatterId,
      acting: { administration: 'test' },
    });
    expect(await admin(['user', 'disable', '--email', email])).toMatchObject({ code: 0 });
    expect((await new DashboardVisitor(service).post(link, { password })).status).toBe(400);
    expect(await membershipOf(squatterId)).toBeNull();
  });
});
