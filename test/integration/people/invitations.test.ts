import { randomBytes } from 'node:crypto';
import { beforeEach, describe, expect, test } from 'vitest';
import { acceptAsNewUser, acceptAsUser } from '#shared/people/members/accept-invitation.ts';
import {
  findInvitation,
  invite,
  listInvitations,
  revokeInvitation,
} from '#shared/people/members/invitations.ts';
import { changeRole, listMembers } from '#shared/people/members/members.ts';
import { createUser } from '#shared/people/members/users.ts';
import { openHashLimiter } from '#shared/people/sign-in/hash-limiter.ts';
import { startSession } from '#shared/people/sign-in/sessions.ts';
import type { Role } from '#shared/platform/database.ts';
import { newEmail, outcomesOf, proofOf, type TestPerson, usePeople } from '../../support/people.ts';

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
const accept = (token: string, deps = people.deps) => acceptAsNewUser(deps, { token, password });
const revocations = (target: string) =>
  people.deps.db.auditLog.findMany({ where: { organizationId, target, action: 'invitation.revoked' } });
const listed = async () => (await listInvitations(people.deps, organizationId)).map(({ id }) => id);

async function sessionOf({ userId }: TestPerson): Promise<string> {
  const sid = randomBytes(24).toString('base64url');
  const proof = await proofOf(people.deps.db, userId);
  await startSession(people.deps, { sid, proof, data: {}, userAgent: null, ip: null });
  return sid;
}

const forbidden = { code: 'insufficient_scope' };
const invalid = { code: 'validation_error' };
const gone = { code: 'not_found' };

describe('an invitation', () => {
  test('expires after seven days', async () => {
    const { id, token } = await inviteBy(owner, newEmail(), 'viewer');
    people.time.ms += 7 * dayMs - 1;
    expect(await find(token)).not.toBeNull();
    expect(await listed()).toEqual([id]);
    people.time.ms += 1;
    expect(await find(token)).toBeNull();
    expect(await listed()).toEqual([]);
    await expect(accept(token)).rejects.toMatchObject(gone);
  });

  test('is revoked once, and not after it was accepted', async () => {
    const revoked = await inviteBy(owner, newEmail(), 'viewer');
    await revoke(owner, revoked.id);
    await revoke(owner, revoked.id);
    expect(await people.audited(revoked.id)).toEqual(['invitation.created', 'invitation.revoked']);
    const accepted = await inviteBy(owner, newEmail(), 'viewer');
    await accept(accepted.token);
    await expect(revoke(owner, accepted.id)).rejects.toMatchObject(invalid);
  });

  test('is replaced by a later one of the same address, also concurrently', async () => {
    const email = newEmail();
    const first = await inviteBy(owner, email, 'viewer');
    const others = await Promise.all(
      [1, 2, 3, 4].map(() => inviteBy(owner, email.toUpperCase(), 'operator')),
    );
    expect(await listed()).toHaveLength(1);
    const { done, refusals } = await outcomesOf([first, ...others].map(({ token }) => accept(token)));
    expect(done).toBe(1);
    for (const refusal of refusals) expect(refusal).toMatchObject(gone);
  });
});

describe('the right to invite', () => {
  test('does not let an admin revoke or replace the open invitation of an owner', async () => {
    const admin = await people.addPerson(organizationId, 'admin');
    const email = newEmail();
    const { id, token } = await inviteBy(owner, email, 'owner');
    await expect(revoke(admin, id)).rejects.toMatchObject(forbidden);
    await expect(inviteBy(admin, email, 'viewer')).rejects.toMatchObject(forbidden);
    expect(await find(token)).not.toBeNull();
    people.time.ms += 7 * dayMs;
    await expect(inviteBy(admin, email, 'viewer')).resolves.toHaveProperty('token');
  });

  test('does not extend to invitations of another organization', async () => {
    const { id } = await inviteBy(owner, newEmail(), 'viewer');
    organizationId = await people.addOrganization();
    await expect(revoke(await people.addPerson(organizationId, 'owner'), id)).rejects.toMatchObject(gone);
  });
});

describe('open invitations are revoked', () => {
  const byOwner = () => ({ actor: `user:${owner.userId}` });

  test('when the member who created them may no longer grant the role', async () => {
    const first = await people.addPerson(organizationId, 'owner');
    const [lost, kept, earlier] = [
      await inviteBy(first, newEmail(), 'owner'),
      await inviteBy(first, newEmail(), 'viewer'),
      await inviteBy(first, newEmail(), 'owner'),
    ];
    await revoke(owner, earlier.id);
    const demotion = { acting: owner, userId: first.userId, role: 'admin' } as const;
    await changeRole(people.deps, { organizationId, ...demotion });
    expect(await find(lost.token)).toBeNull();
    expect(await find(kept.token)).not.toBeNull();
    expect(await revocations(lost.id)).toMatchObject([byOwner()]);
    expect(await revocations(earlier.id)).toHaveLength(1);
  });

  test('when the address becomes a member in another way', async () => {
    const email = newEmail();
    const { id, token } = await inviteBy(owner, email, 'owner');
    await createUser(people.deps, { organizationId, email, password, role: 'viewer', actor: 'test' });
    expect(await find(token)).toBeNull();
    expect(await revocations(id)).toMatchObject([{ actor: 'test', detail: { email, role: 'owner' } }]);
  });
});

describe('accepting', () => {
  test('succeeds for one of twenty concurrent attempts', async () => {
    const email = newEmail();
    const { token } = await inviteBy(owner, email, 'viewer');
    const deps = { ...people.deps, hashLimiter: openHashLimiter({ share: 20 }) };
    const { done, refusals } = await outcomesOf(Array.from({ length: 20 }, () => accept(token, deps)));
    expect(done).toBe(1);
    expect(new Set(refusals.map(({ code }) => code))).toEqual(new Set(['not_found']));
    const members = await listMembers(people.deps.db, organizationId);
    expect(members.filter((member) => member.email === email)).toHaveLength(1);
  });

  test('is refused to a user whose session has ended, and the invitation stays open', async () => {
    const guest = await people.addPerson(await people.addOrganization(), 'owner');
    const sid = await sessionOf(guest);
    await people.deps.db.session.deleteMany({ where: { userId: guest.userId } });
    const { token } = await inviteBy(owner, guest.email, 'admin');
    const accepted = acceptAsUser(people.deps, { token, userId: guest.userId, sid });
    await expect(accepted).rejects.toMatchObject(forbidden);
    expect(await find(token)).not.toBeNull();
  });
});
