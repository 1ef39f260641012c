import { beforeEach, describe, expect, test } from 'vitest';
import { managedRoles, roles } from '#shared/access/roles.ts';
import { changeRole, listMembers, removeMember } from '#shared/people/members/members.ts';
import { findMembership } from '#shared/people/members/memberships.ts';
import type { Role } from '#shared/platform/database.ts';
import { outcomesOf, type TestPerson, usePeople } from '../../support/people.ts';

const people = usePeople();
let organizationId: string;
let owner: TestPerson;

beforeEach(async () => {
  organizationId = await people.addOrganization();
  owner = await people.addPerson(organizationId, 'owner');
});

const forbidden = { code: 'insufficient_scope', status: 403 };
const add = (role: Role) => people.addPerson(organizationId, role);
const change = (acting: TestPerson, { userId }: TestPerson, role: Role) =>
  changeRole(people.deps, { organizationId, acting, userId, role });
const remove = (acting: TestPerson, { userId }: TestPerson) =>
  removeMember(people.deps, { organizationId, userId, acting: { userId: acting.userId } });
const roleOf = async ({ userId }: TestPerson) =>
  (await findMembership(people.deps.db, userId, organizationId))?.role ?? null;

describe('changing a role', () => {
  const changes = roles.flatMap((acting) =>
    roles.flatMap((from) => roles.filter((to) => to !== from).map((to) => ({ acting, from, to }))),
  );
  const isAllowed = ({ acting, from, to }: Record<'acting' | 'from' | 'to', Role>) =>
    acting === 'owner' || (acting === 'admin' && from !== 'owner' && to !== 'owner');

  test.for(roles)('is limited to the roles that the acting %s may manage', async (acting) => {
    const person = await add(acting);
    for (const each of changes.filter((one) => one.acting === acting)) {
      const member = await add(each.from);
      const changed = change(person, member, each.to);
      const description = JSON.stringify(each);
      if (isAllowed(each)) await expect(changed, description).resolves.toBeUndefined();
      else await expect(changed, description).rejects.toMatchObject(forbidden);
      expect(await roleOf(member), description).toBe(isAllowed(each) ? each.to : each.from);
    }
    const allowed = roles.filter((role) => isAllowed({ acting, from: role, to: role }));
    expect(managedRoles(acting)).toEqual(allowed);
  });

  test.for(['owner', 'admin'] as const)('is refused to an %s for their own role', async (role) => {
    const member = await add(role);
    await expect(change(member, member, 'viewer')).rejects.toMatchObject(forbidden);
  });

  test('is refused across organizations', async () => {
    const outsider = await people.addPerson(await people.addOrganization(), 'owner');
    const member = await add('viewer');
    await expect(change(outsider, member, 'admin')).rejects.toMatchObject(forbidden);
    await expect(change(owner, outsider, 'viewer')).rejects.toMatchObject({ code: 'not_found' });
  });
});

describe('an organization keeps an owner', () => {
  test('when all owners leave concurrently', async () => {
    const owners = [owner, await add('owner'), await add('owner')];
    const { done, refusals } = await outcomesOf(owners.map((each) => remove(each, each)));
    expect(done).toBe(2);
    expect(refusals).toMatchObject([
      { code: 'validation_error', message: expect.stringMatching(/at least one owner/) },
    ]);
    expect(await listMembers(people.deps.db, organizationId)).toMatchObject([{ role: 'owner' }]);
  });
});

describe('removing a member', () => {
  test('is allowed to those who manage the role, and to everyone for themselves', async () => {
    const [admin, operator, viewer] = [await add('admin'), await add('operator'), await add('viewer')];
    await expect(remove(operator, viewer)).rejects.toMatchObject(forbidden);
    await expect(remove(admin, owner)).rejects.toMatchObject(forbidden);
    await remove(viewer, viewer);
    await remove(admin, operator);
    await remove(owner, admin);
    expect(await listMembers(people.deps.db, organizationId)).toMatchObject([{ userId: owner.userId }]);
    expect(await people.audited(admin.userId)).toEqual(['user.created', 'member.removed']);
    await expect(remove(owner, admin)).rejects.toMatchObject({ code: 'not_found' });
  });
});
