import { expect, test } from 'vitest';
import { nameActors } from '#shared/audit/actors.ts';
import { createApiKey } from '#shared/organizations/api-keys.ts';
import { removeMember } from '#shared/people/members/members.ts';
import { usePeople } from '../../support/people.ts';

const people = usePeople();

test('names members, former members, deleted users, API keys, processes and command line users, and nothing of other organizations', async () => {
  const organizationId = await people.addOrganization();
  const member = await people.addPerson(organizationId, 'operator');
  const former = await people.addPerson(organizationId, 'operator');
  const removal = { organizationId, userId: former.userId, acting: { administration: 'cli:ada' } };
  await removeMember(people.deps, removal);
  const addKey = async (owner: string, name = '') =>
    await createApiKey(people.deps, { organizationId: owner, environment: 'test', actor: 'test', name });
  const key = await addKey(organizationId);
  const shop = await addKey(organizationId, 'Shop');
  const foreign = await addKey(await people.addOrganization());
  const expected = new Map([
    [`user:${member.userId}`, member.email],
    [`user:${former.userId}`, `${former.email} (former member)`],
    [`key:${key.id}`, `key ...${key.plaintext.slice(-4)}`],
    [`key:${shop.id}`, `Shop, key ...${shop.plaintext.slice(-4)}`],
    ['worker', 'Worker'],
    ['service', 'System'],
    ['cli:ada', 'ada (command line)'],
    [`key:${foreign.id}`, `key:${foreign.id}`],
    ['user:nobody', 'Deleted user'],
    ['toString', 'toString'],
  ]);
  expect(await nameActors(people.deps.db, organizationId, [...expected.keys()])).toEqual(expected);
});
