import { beforeEach, expect, test } from 'vitest';
import { createApiKey, revokeApiKey } from '#shared/organizations/api-keys.ts';
import { createdKeys } from '#shared/organizations/created-keys.ts';
import { disableUser } from '#shared/people/members/disable-user.ts';
import { changeRole, removeMember } from '#shared/people/members/members.ts';
import { type TestPerson, usePeople } from '../../support/people.ts';
import { waitForLock, withClient } from '../../support/stores/database-client.ts';

// A person who is about to lose their rights creates one more key at that moment.
const people = usePeople();
const actor = 'cli:root';
let organizationId: string;
let owner: TestPerson;
let leaving: TestPerson;
/** A key that creates keys. */
let manager: string;

beforeEach(async () => {
  organizationId = await people.addOrganization();
  owner = await people.addPerson(organizationId, 'owner');
  leaving = await people.addPerson(organizationId, 'admin');
  manager = (await create(`user:${leaving.userId}`)).id;
});

/** Lets changes wait for the organization's lock, one after the other, and then releases it. */
async function inOrder(...changes: (() => Promise<unknown>)[]) {
  const waiting = await withClient(people.databaseUrl, async (client) => {
    await client.query('BEGIN');
    await client.query('SELECT 1 FROM organization FOR NO KEY UPDATE');
    const started: Promise<unknown>[] = [];
    for (const change of changes) {
      started.push(change());
      await waitForLock(client, started.length);
    }
    await client.query('COMMIT');
    return Promise.allSettled(started);
  });
  return waiting.map((each) => (each.status === 'fulfilled' ? 'done' : each.reason.code));
}

const keysOf = (creator: string) => people.deps.db.apiKey.count({ where: { createdBy: creator } });
const workingKeysOf = (creator: string) => createdKeys(people.deps.db, [creator], people.deps.clock.now());
const create = (by: string) =>
  createApiKey(people.deps, { organizationId, environment: 'test', actor: by, scopes: ['keys:manage'] });
const remove = () =>
  removeMember(people.deps, {
    ...{ organizationId, userId: leaving.userId },
    ...{ acting: { administration: actor }, keptKeys: [] },
  });
const disable = () => disableUser(people.deps, { userId: leaving.userId, actor, revokesKeys: true });

const demote = () =>
  changeRole(people.deps, { organizationId, userId: leaving.userId, acting: owner, role: 'operator' });
const revoke = () => revokeApiKey(people.deps, { keyId: manager, actor, withCreated: true });

/** Who creates the key, and what ends their right to. */
const byAdmin = () => `user:${leaving.userId}`;
const byKey = () => `key:${manager}`;
const endings: [what: string, creator: () => string, end: () => Promise<unknown>, refusal: string][] = [
  ['the admin is removed', byAdmin, remove, 'insufficient_scope'],
  ['the admin is disabled', byAdmin, disable, 'insufficient_scope'],
  ['the key that creates it is revoked', byKey, revoke, 'invalid_api_key'],
  ['the creator of the key that creates it is removed', byKey, remove, 'invalid_api_key'],
  ['the creator of the key that creates it is disabled', byKey, disable, 'invalid_api_key'],
];

test.each([...endings, ['the admin lost that role', byAdmin, demote, 'insufficient_scope'] as const])(
  'a key is refused just after %s',
  async (_what, creator, end, refusal) => {
    const before = await keysOf(creator());
    expect(await inOrder(end, () => create(creator()))).toEqual(['done', refusal]);
    expect(await keysOf(creator())).toBe(before);
  },
);

test.each(endings)('a key is revoked with the others just before %s', async (_what, creator, end) => {
  const before = await keysOf(creator());
  expect(await inOrder(() => create(creator()), end)).toEqual(['done', 'done']);
  expect(await keysOf(creator())).toBe(before + 1);
  expect(await workingKeysOf(creator())).toEqual([]);
});
