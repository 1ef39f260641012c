import { beforeEach, describe, expect, test } from 'vitest';
import {
  changeRole,
  findMembership,
  listMembers,
  organizationsOf,
  removeMember,
} from '../../../shared/people/members.ts';
import { managedRoles, roles } from '../../../shared/people/roles.ts';
import type { Role } from '../../../shared/platform/database.ts';
import { outcomesOf, type TestPerson, usePeople } from '../../support/people.ts';

const people = usePeople();
let organizationId: string;
let owner: TestPerson;

beforeEach(async () => {
  organizationId = await people.addOrganization();
  owner = await people.addPerson(organizationId, 'owner');
});

const add = (role: Role) => people.addPerson(organizationId, role);
const change = (acting: TestPerson, { userId }: TestPerson, role: Role) =>
  changeRole(people.deps, { organizationId, actingUserId: acting.userId, userId, role });
const remove = (acting: TestPerson, { userId }: TestPerson) =>
  removeMember(people.deps, { organizationId, userId, acting: { userId: acting.userId } });
const roleOf = async ({ userId }: TestPerson) =>
  (await findMembership(people.deps.db, userId, organizationId))?.role ?? null;

describe('a membership', () => {
  test('tells the organization and the role, and nothing of an organization of others', async () => {
    const elsewhere = await people.addOrganization();
    expect(await findMembership(people.deps.db, owner.userId, organizationId)).toEqual({
      organizationName: 'Acme',
      role: 'owner',
    });
    expect(await findMembership(people.deps.db, owner.userId, elsewhere)).toBeNull();
    expect(await organizationsOf(people.deps.db, owner.userId)).toEqual([
      { id: organizationId, name: 'Acme', role: 'owner' },
    ]);
  });

  test('is listed by address, without the hash of a password', async () => {
    const viewer = await add('viewer');
    const members = await listMembers(people.deps.db, organizationId);
    const expected = [
      { userId: owner.userId, email: owner.email, role: 'owner', since: expect.any(Date) },
      { userId: viewer.userId, email: viewer.email, role: 'viewer', since: expect.any(Date) },
    ];
    expect(members).toEqual(expected.sort((a, b) => (a.email < b.email ? -1 : 1)));
  });
});

describe('a role', () => {
  /** Who may make whom what: owners everything, admins all but owners, nobody else anything. */
  const changes = roles.flatMap((acting) =>
    roles.flatMap((from) => roles.filter((to) => to !== from).map((to) => ({ acting, from, to }))),
  );
  const isAllowed = ({ acting, from, to }: Record<'acting' | 'from' | 'to', Role>) =>
    acting === 'owner' || (acting === 'admin' && from !== 'owner' && to !== 'owner');

  test.for(roles)(
    'is given and taken by an acting %s as far as that goes, and no further',
    async (acting) => {
      const person = await add(acting);
      for (const each of changes.filter((one) => one.acting === acting)) {
        const member = await add(each.from);
        const changed = change(person, member, each.to);
        const told = JSON.stringify(each);
        if (isAllowed(each)) await expect(changed, told).resolves.toBeUndefined();
        else await expect(changed, told).rejects.toMatchObject({ code: 'insufficient_scope', status: 403 });
        expect(await roleOf(member), told).toBe(isAllowed(each) ? each.to : each.from);
      }
      expect(managedRoles(acting)).toEqual(
        roles.filter((role) => isAllowed({ acting, from: role, to: role })),
      );
    },
  );

  test('of the own is changed by nobody', async () => {
    const second = await add('owner');
    const admin = await add('admin');
    await expect(change(second, second, 'viewer')).rejects.toMatchObject({ code: 'insufficient_scope' });
    await expect(change(admin, admin, 'owner')).rejects.toMatchObject({ code: 'insufficient_scope' });
  });

  test('is written to the audit log with what it was; a change that is none is not', async () => {
    const member = await add('viewer');
    await change(owner, member, 'admin');
    await change(owner, member, 'admin');
    const [entry, ...more] = await people.deps.db.auditLog.findMany({
      where: { target: member.userId, action: 'member.role_changed' },
    });
    expect(more).toEqual([]);
    expect(entry).toMatchObject({
      actor: `user:${owner.userId}`,
      detail: { email: member.email, from: 'viewer', to: 'admin' },
    });
  });

  test('is not changed in another organization, or by its members', async () => {
    const stranger = await people.addPerson(await people.addOrganization(), 'owner');
    const member = await add('viewer');
    await expect(change(stranger, member, 'admin')).rejects.toMatchObject({ code: 'insufficient_scope' });
    await expect(change(owner, stranger, 'viewer')).rejects.toMatchObject({ code: 'not_found' });
  });
});

describe('an organization keeps an owner', () => {
  test('when two owners demote each other at the same moment', async () => {
    for (let round = 0; round < 5; round += 1) {
      organizationId = await people.addOrganization();
      const [one, other] = [await add('owner'), await add('owner')];
      const tries = [change(one, other, 'viewer'), change(other, one, 'viewer')];
      const { done, refusals } = await outcomesOf(tries);
      expect({ done, codes: refusals.map(({ code }) => code) }).toEqual({
        done: 1,
        codes: ['insufficient_scope'],
      });
      expect([await roleOf(one), await roleOf(other)].sort()).toEqual(['owner', 'viewer']);
    }
  });

  test('when all of them leave at the same moment', async () => {
    const owners = [owner, await add('owner'), await add('owner')];
    const { done, refusals } = await outcomesOf(owners.map((each) => remove(each, each)));
    expect(done).toBe(2);
    expect(refusals).toMatchObject([
      { code: 'validation_error', message: expect.stringMatching(/only owner/) },
    ]);
    expect(await listMembers(people.deps.db, organizationId)).toMatchObject([{ role: 'owner' }]);
  });

  test('when the administration removes the last one', async () => {
    const removed = removeMember(people.deps, {
      organizationId,
      userId: owner.userId,
      acting: { administration: 'cli:test' },
    });
    await expect(removed).rejects.toMatchObject({ code: 'validation_error' });
  });
});

describe('removing a member', () => {
  test('is for owners, for admins but for owners, and for everybody who leaves', async () => {
    const [admin, operator, viewer] = [await add('admin'), await add('operator'), await add('viewer')];
    await expect(remove(operator, viewer)).rejects.toMatchObject({ code: 'insufficient_scope' });
    await expect(remove(admin, owner)).rejects.toMatchObject({ code: 'insufficient_scope' });
    await remove(viewer, viewer);
    await remove(admin, operator);
    await remove(owner, admin);
    expect(await listMembers(people.deps.db, organizationId)).toMatchObject([{ userId: owner.userId }]);
    expect(await people.audited(admin.userId)).toEqual(['user.created', 'member.removed']);
    await expect(remove(owner, admin)).rejects.toMatchObject({ code: 'not_found' });
  });

  test('who was just demoted removes nobody any more', async () => {
    const [admin, viewer] = [await add('admin'), await add('viewer')];
    await change(owner, admin, 'viewer');
    await expect(remove(admin, viewer)).rejects.toMatchObject({ code: 'insufficient_scope' });
  });
});
