import { beforeEach, expect, test } from 'vitest';
import { acceptAsNewUser } from '#shared/people/members/accept-invitation.ts';
import { disableUser } from '#shared/people/members/disable-user.ts';
import { invite } from '#shared/people/members/invitations.ts';
import { removeMember } from '#shared/people/members/members.ts';
import { findMembership } from '#shared/people/members/memberships.ts';
import { loadSession, startSession } from '#shared/people/sign-in/sessions.ts';
import { signIn } from '#shared/people/sign-in/sign-in.ts';
import { newEmail, usePeople } from '../../support/people.ts';

// A squatter invited another person's address to an organization of its own, and joined as that person.
const people = usePeople();
const password = 'what the person chose';
const squattersPassword = 'what the squatter chose';
const acting = { administration: 'test' };
const actor = 'cli:root';
let organizationId: string;
let elsewhere: string;
let email: string;
let squatterId: string;
/** The session of the squatter. */
let sid: string;

async function link(organization = organizationId): Promise<string> {
  const request = { organizationId: organization, acting, email, role: 'admin' } as const;
  return (await invite(people.deps, request)).token;
}

const join = async (token: string) => await acceptAsNewUser(people.deps, { token, password });
const attempt = async (secret: string) => (await signIn(people.deps, { email, password: secret })).kind;
const membershipOf = (userId: string) => findMembership(people.deps.db, userId, organizationId);
const leave = () => removeMember(people.deps, { organizationId: elsewhere, userId: squatterId, acting });

async function expectSquatterLockedOut(): Promise<void> {
  expect(await attempt(squattersPassword)).toBe('refused');
  expect(await loadSession(people.deps, sid)).toBeNull();
}

beforeEach(async () => {
  organizationId = await people.addOrganization();
  elsewhere = await people.addOrganization();
  await people.addPerson(elsewhere, 'owner');
  email = newEmail();
  const proof = await acceptAsNewUser(people.deps, {
    token: await link(elsewhere),
    password: squattersPassword,
  });
  squatterId = proof.userId;
  sid = `cookie of ${squatterId}`;
  await startSession(people.deps, { sid, proof, data: {}, userAgent: null, ip: null });
});

test('the holder of an invitation cannot take over the account of another organization', async () => {
  await expect(join(await link())).rejects.toThrow('ask the operator of this service to free it');
  expect(await attempt(password)).toBe('refused');
  expect(await attempt(squattersPassword)).toBe('signed-in');
  expect(await loadSession(people.deps, sid)).not.toBeNull();
  expect(await membershipOf(squatterId)).toBeNull();
});

test('the person takes over the account once it belongs to no organization, without its second factor', async () => {
  const token = await link();
  const secret = { encryptedSecret: new Uint8Array(8), encryptionKeyId: 'none', lastStep: 0 };
  await people.deps.db.secondFactor.create({
    data: { userId: squatterId, ...secret, recoveryHashes: [], enabledAt: new Date() },
  });
  await leave();
  expect((await join(token)).userId).toBe(squatterId);
  expect(await people.deps.db.secondFactor.count({ where: { userId: squatterId } })).toBe(0);
  expect(await membershipOf(squatterId)).toMatchObject({ role: 'admin' });
  expect(await attempt(password)).toBe('signed-in');
  await expectSquatterLockedOut();
  expect((await people.audited(squatterId)).at(-1)).toBe('member.added');
});

test('the person does not take over an account that an operator has disabled', async () => {
  const token = await link();
  await leave();
  await disableUser(people.deps, { userId: squatterId, actor, revokesKeys: false });
  await expect(join(token)).rejects.toMatchObject({ code: 'validation_error' });
  expect(await membershipOf(squatterId)).toBeNull();
});
