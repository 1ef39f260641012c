import { expect, test } from 'vitest';
import { createApiKey } from '../../../shared/organizations/api-keys.ts';
import { nameActors } from '../../../shared/people/actors.ts';
import { removeMember } from '../../../shared/people/members.ts';
import { usePeople } from '../../support/people.ts';

const people = usePeople();

async function addKey(organizationId: string) {
  const { id, plaintext } = await createApiKey(people.deps, {
    organizationId,
    environment: 'test',
    actor: 'test',
  });
  return { actor: `key:${id}`, lastFour: plaintext.slice(-4) };
}

test('actors are named by what people know them by', async () => {
  const organizationId = await people.addOrganization();
  const { userId, email } = await people.addPerson(organizationId, 'operator');
  const key = await addKey(organizationId);
  const actors = [`user:${userId}`, key.actor, 'worker', 'service', 'cli:ada'];
  const named = await nameActors(people.deps.db, organizationId, actors);
  expect([...named]).toEqual([
    [`user:${userId}`, email],
    [key.actor, `key ...${key.lastFour}`],
    ['worker', 'the worker'],
    ['service', 'the service'],
    ['cli:ada', 'ada, on the command line'],
  ]);
});

test('somebody who has left is still named, and said to have left', async () => {
  const organizationId = await people.addOrganization();
  const { userId, email } = await people.addPerson(organizationId, 'operator');
  await removeMember(people.deps, { organizationId, userId, acting: { administration: 'cli:ada' } });
  const named = await nameActors(people.deps.db, organizationId, [`user:${userId}`]);
  expect(named.get(`user:${userId}`)).toBe(`${email} (has left)`);
});

test("another organization's key is not known, and what is not known stands for itself", async () => {
  const organizationId = await people.addOrganization();
  const { actor } = await addKey(await people.addOrganization());
  const named = await nameActors(people.deps.db, organizationId, [actor, 'user:nobody', 'toString']);
  expect([...named]).toEqual([
    [actor, actor],
    ['user:nobody', 'user:nobody'],
    ['toString', 'toString'],
  ]);
});
