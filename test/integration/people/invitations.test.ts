import { randomBytes } from 'node:crypto';
import { beforeEach, describe, expect, test } from 'vitest';
import { acceptAsNewUser, acceptAsUser } from '../../../shared/people/accept-invitation.ts';
import {
  findInvitation,
  invite,
  listInvitations,
  revokeInvitation,
} from '../../../shared/people/invitations.ts';
import { changeRole, findMembership, listMembers, removeMember } from '../../../shared/people/members.ts';
import { openHashLimiter } from '../../../shared/people/passwords.ts';
import { startSession } from '../../../shared/people/sessions.ts';
import { signIn } from '../../../shared/people/sign-in.ts';
import { createUser } from '../../../shared/people/users.ts';
import type { Role } from '../../../shared/platform/database.ts';
import { redact } from '../../../shared/platform/redact.ts';
import { newEmail, outcomesOf, proofOf, type TestPerson, usePeople } from '../../support/people.ts';
import { expectNotInDatabase } from '../../support/stores/database-content.ts';

const people = usePeople();
const dayMs = 24 * 60 * 60 * 1000;
const password = 'a password of my own';
let organizationId: string;
let owner: TestPerson;

beforeEach(async () => {
  organizationId = await people.addOrganization();
  owner = await people.addPerson(organizationId, 'owner');
});

const inviteBy = ({ userId }: TestPerson, email: string, role: Role) =>
  invite(people.deps, { organizationId, acting: { userId }, email, role });
const revoke = ({ userId }: TestPerson, invitationId: string) =>
  revokeInvitation(people.deps, { organizationId, acting: { userId }, invitationId });
const find = (token: string) => findInvitation(people.deps, token);
const accept = (token: string) => acceptAsNewUser(people.deps, { token, password });
/** The cookie's session id of a person who is signed in. */
async function sessionOf({ userId }: TestPerson): Promise<string> {
  const sid = randomBytes(24).toString('base64url');
  const proof = await proofOf(people.deps.db, userId);
  await startSession(people.deps, { sid, proof, data: {}, userAgent: null, ip: null });
  return sid;
}
const revocations = (target: string) =>
  people.deps.db.auditLog.findMany({ where: { organizationId, target, action: 'invitation.revoked' } });
const by = ({ userId }: TestPerson) => `user:${userId}`;
const listed = async () => (await listInvitations(people.deps, organizationId)).map(({ id }) => id);

describe('an invitation', () => {
  test('is found by its token, shows who is invited to what, and makes a person a member', async () => {
    const email = newEmail();
    const { id, token, expiresAt } = await inviteBy(owner, ` ${email.toUpperCase()} `, 'operator');
    expect(expiresAt.getTime()).toBe(people.time.ms + 7 * dayMs);
    expect(await find(token)).toMatchObject({ id, email, role: 'operator', organizationName: 'Acme' });
    expect(await find(token)).not.toHaveProperty('tokenHash');
    const { userId } = await accept(token);
    expect(await findMembership(people.deps.db, userId, organizationId)).toMatchObject({ role: 'operator' });
    expect((await signIn(people.deps, { email, password })).kind).toBe('signed-in');
    expect(await people.audited(id)).toEqual(['invitation.created']);
    expect(await people.audited(userId)).toEqual(['user.created']);
  });

  test('leaves its token in no column, and logs mask it', async () => {
    const { token } = await inviteBy(owner, newEmail(), 'viewer');
    await expectNotInDatabase(people.databaseUrl, token);
    await expectNotInDatabase(people.databaseUrl, token.slice('invite_'.length));
    expect(redact(`/dashboard/invitations/${token}`)).toBe('/dashboard/invitations/invite_[redacted]');
  });

  test('is unknown under any other token', async () => {
    const { token } = await inviteBy(owner, newEmail(), 'viewer');
    expect(await find(`${token}x`)).toBeNull();
    expect(await find('')).toBeNull();
    await expect(accept(`${token}x`)).rejects.toMatchObject({ code: 'not_found' });
  });

  test('is open for seven days', async () => {
    const { id, token } = await inviteBy(owner, newEmail(), 'viewer');
    people.time.ms += 7 * dayMs - 1;
    expect(await find(token)).not.toBeNull();
    expect(await listed()).toEqual([id]);
    people.time.ms += 1;
    expect(await find(token)).toBeNull();
    expect(await listed()).toEqual([]);
    await expect(accept(token)).rejects.toMatchObject({ code: 'not_found' });
  });

  test('that was revoked is not accepted any more, and one that was accepted is not revoked', async () => {
    const revoked = await inviteBy(owner, newEmail(), 'viewer');
    await revoke(owner, revoked.id);
    await revoke(owner, revoked.id);
    await expect(accept(revoked.token)).rejects.toMatchObject({ code: 'not_found' });
    expect(await people.audited(revoked.id)).toEqual(['invitation.created', 'invitation.revoked']);
    const accepted = await inviteBy(owner, newEmail(), 'viewer');
    await accept(accepted.token);
    await expect(revoke(owner, accepted.id)).rejects.toMatchObject({ code: 'validation_error' });
    expect(await listed()).toEqual([]);
  });

  test('is replaced by the next one of the same address', async () => {
    const email = newEmail();
    const first = await inviteBy(owner, email, 'viewer');
    const second = await inviteBy(owner, email.toUpperCase(), 'operator');
    expect(await listed()).toEqual([second.id]);
    await expect(accept(first.token)).rejects.toMatchObject({ code: 'not_found' });
    await accept(second.token);
  });

  test('of one address by two people at the same moment leaves one', async () => {
    const email = newEmail();
    const invited = await Promise.all([1, 2, 3, 4].map(() => inviteBy(owner, email, 'viewer')));
    expect(await listed()).toHaveLength(1);
    const { done } = await outcomesOf(invited.map(({ token }) => accept(token)));
    expect(done).toBe(1);
  });
});

describe('who may invite', () => {
  test('owners anybody, admins anybody but owners, others nobody', async () => {
    const may = async (acting: Role, role: Role) => {
      const { done, refusals } = await outcomesOf([
        inviteBy(await people.addPerson(organizationId, acting), newEmail(), role),
      ]);
      for (const { code } of refusals) expect(code).toBe('insufficient_scope');
      return done === 1;
    };
    expect(await may('owner', 'owner')).toBe(true);
    expect(await may('admin', 'admin')).toBe(true);
    expect(await may('admin', 'owner')).toBe(false);
    expect(await may('operator', 'viewer')).toBe(false);
    expect(await may('viewer', 'viewer')).toBe(false);
  });

  test('an admin neither takes the invitation of an owner back nor replaces it', async () => {
    const admin = await people.addPerson(organizationId, 'admin');
    const email = newEmail();
    const { id, token } = await inviteBy(owner, email, 'owner');
    await expect(revoke(admin, id)).rejects.toMatchObject({ code: 'insufficient_scope' });
    await expect(inviteBy(admin, email, 'viewer')).rejects.toMatchObject({ code: 'insufficient_scope' });
    expect(await find(token)).not.toBeNull();
  });

  test("an invitation whose time is over stands in nobody's way", async () => {
    const admin = await people.addPerson(organizationId, 'admin');
    const email = newEmail();
    await inviteBy(owner, email, 'owner');
    people.time.ms += 7 * dayMs;
    const { token } = await inviteBy(admin, email, 'viewer');
    expect(await find(token)).toMatchObject({ email, role: 'viewer' });
  });

  test('nobody invites a member, or what is no address', async () => {
    const refusal = { code: 'validation_error' };
    await expect(inviteBy(owner, owner.email.toUpperCase(), 'viewer')).rejects.toMatchObject(refusal);
    await expect(inviteBy(owner, 'nobody', 'viewer')).rejects.toMatchObject(refusal);
  });

  test('an invitation of another organization does not exist', async () => {
    const { id } = await inviteBy(owner, newEmail(), 'viewer');
    organizationId = await people.addOrganization();
    const stranger = await people.addPerson(organizationId, 'owner');
    await expect(revoke(stranger, id)).rejects.toMatchObject({ code: 'not_found' });
  });

  test('the open invitations of somebody who is removed end, too', async () => {
    const admin = await people.addPerson(organizationId, 'admin');
    const email = newEmail();
    const { id, token } = await inviteBy(admin, email, 'admin');
    const kept = await inviteBy(owner, newEmail(), 'viewer');
    const acting = { userId: owner.userId };
    await removeMember(people.deps, { organizationId, userId: admin.userId, acting });
    expect(await find(token)).toBeNull();
    expect(await find(kept.token)).not.toBeNull();
    expect(await revocations(id)).toMatchObject([{ actor: by(owner), detail: { email, role: 'admin' } }]);
    expect(await revocations(kept.id)).toEqual([]);
  });

  test('those to roles that somebody may give no longer end with the old role', async () => {
    const first = await people.addPerson(organizationId, 'owner');
    const [lost, kept, over] = [
      await inviteBy(first, newEmail(), 'owner'),
      await inviteBy(first, newEmail(), 'viewer'),
      await inviteBy(first, newEmail(), 'owner'),
    ];
    await revoke(owner, over.id);
    const demoted = { actingUserId: owner.userId, userId: first.userId };
    await changeRole(people.deps, { organizationId, ...demoted, role: 'admin' });
    expect(await find(lost.token)).toBeNull();
    expect(await find(kept.token)).not.toBeNull();
    expect(await revocations(lost.id)).toMatchObject([{ actor: by(owner) }]);
    expect(await revocations(kept.id)).toEqual([]);
    expect(await revocations(over.id)).toHaveLength(1);
  });

  test('an address that becomes a member in another way needs no invitation any more', async () => {
    const email = newEmail();
    const { id, token } = await inviteBy(owner, email, 'owner');
    await createUser(people.deps, { organizationId, email, password, role: 'viewer', actor: 'test' });
    expect(await find(token)).toBeNull();
    expect(await revocations(id)).toMatchObject([{ actor: 'test', detail: { email, role: 'owner' } }]);
  });
});

describe('accepting', () => {
  test('twenty times at the same moment happens once', async () => {
    const email = newEmail();
    const { token } = await inviteBy(owner, email, 'viewer');
    const { done, refusals } = await outcomesOf(Array.from({ length: 20 }, () => accept(token)));
    expect(done).toBe(1);
    expect(new Set(refusals.map(({ code }) => code))).toEqual(new Set(['not_found']));
    const members = await listMembers(people.deps.db, organizationId);
    expect(members.filter((member) => member.email === email)).toHaveLength(1);
  });

  test('as a person who is signed in, also twice, happens once and keeps the password', async () => {
    const guest = await people.addPerson(await people.addOrganization(), 'viewer');
    const { token } = await inviteBy(owner, guest.email, 'admin');
    const acceptance = { token, userId: guest.userId, sid: await sessionOf(guest) };
    const tries = [1, 2, 3].map(() => acceptAsUser(people.deps, acceptance));
    expect((await outcomesOf(tries)).done).toBe(1);
    expect(await findMembership(people.deps.db, guest.userId, organizationId)).toMatchObject({
      role: 'admin',
    });
    expect((await signIn(people.deps, guest)).kind).toBe('signed-in');
  });

  test('is not for a person with another address, and the invitation stays open', async () => {
    const stranger = await people.addPerson(await people.addOrganization(), 'owner');
    const { token } = await inviteBy(owner, newEmail(), 'admin');
    const acceptance = { token, userId: stranger.userId, sid: await sessionOf(stranger) };
    const taken = acceptAsUser(people.deps, acceptance);
    await expect(taken).rejects.toMatchObject({ code: 'insufficient_scope' });
    expect(await find(token)).not.toBeNull();
  });

  test('waits for its turn to hash, and stays open when it is turned away', async () => {
    const { token } = await inviteBy(owner, newEmail(), 'viewer');
    const full = { ...people.deps, hashLimiter: fullLimiter() };
    const refused = acceptAsNewUser(full, { token, password });
    await expect(refused).rejects.toMatchObject({ code: 'service_unavailable' });
    expect(await find(token)).not.toBeNull();
  });

  test('is not done by a session that has ended meanwhile', async () => {
    const guest = await people.addPerson(await people.addOrganization(), 'viewer');
    const { token } = await inviteBy(owner, guest.email, 'admin');
    const sid = await sessionOf(guest);
    await people.deps.db.session.deleteMany({ where: { userId: guest.userId } });
    const late = acceptAsUser(people.deps, { token, userId: guest.userId, sid });
    await expect(late).rejects.toMatchObject({ code: 'insufficient_scope' });
    expect(await find(token)).not.toBeNull();
  });

  test('with a bad password, or as new with an address that has a user, leaves it open', async () => {
    const guest = await people.addPerson(await people.addOrganization(), 'viewer');
    const { token } = await inviteBy(owner, guest.email, 'viewer');
    const refusal = { code: 'validation_error' };
    await expect(acceptAsNewUser(people.deps, { token, password: 'short' })).rejects.toMatchObject(refusal);
    await expect(accept(token)).rejects.toMatchObject({
      ...refusal,
      message: expect.stringMatching(/has a user already/),
    });
    expect(await find(token)).not.toBeNull();
    expect((await signIn(people.deps, { email: guest.email, password })).kind).toBe('refused');
  });

  test('while it is revoked ends one way or the other', async () => {
    const email = newEmail();
    const { id, token } = await inviteBy(owner, email, 'viewer');
    const { done } = await outcomesOf([accept(token), revoke(owner, id)]);
    expect(done).toBe(1);
    const row = await people.deps.db.invitation.findUniqueOrThrow({ where: { id } });
    const isMember = (await listMembers(people.deps.db, organizationId)).some((each) => each.email === email);
    expect([row.acceptedAt !== null, row.revokedAt === null]).toEqual([isMember, isMember]);
  });
});
