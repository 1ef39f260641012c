import { beforeEach, describe, expect, test } from 'vitest';
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

beforeEach(async () => {
  organizationId = await people.addOrganization();
  owner = await people.addPerson(organizationId, 'owner');
  leaving = await people.addPerson(organizationId, 'admin');
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

describe('a key that an admin creates', () => {
  const admin = () => `user:${leaving.userId}`;
  const demote = () =>
    changeRole(people.deps, {
      ...{ organizationId, userId: leaving.userId },
      ...{ acting: owner, role: 'operator' },
    });

  test.each([
    ['is removed', remove],
    ['is disabled', disable],
    ['lost that role', demote],
  ])('is refused just after the admin %s', async (_how, end) => {
    expect(await inOrder(end, () => create(admin()))).toEqual(['done', 'insufficient_scope']);
    expect(await keysOf(admin())).toBe(0);
  });

  test.each([
    ['is removed', remove],
    ['is disabled', disable],
  ])('is revoked with the others just before the admin %s', async (_how, end) => {
    expect(await inOrder(() => create(admin()), end)).toEqual(['done', 'done']);
    expect(await keysOf(admin())).toBe(1);
    expect(await workingKeysOf(admin())).toEqual([]);
  });
});

describe('a key that is created with another key', () => {
  let manager: string;
  beforeEach(async () => {
    manager = (await create(`user:${leaving.userId}`)).id;
  });

  const revoke = () => revokeApiKey(people.deps, { keyId: manager, actor, withCreated: true });
  const endings: [what: string, end: () => Promise<unknown>][] = [
    ['that key is revoked', revoke],
    ['its creator is removed', remove],
    ['its creator is disabled', disable],
  ];

  test.each(endings)('is refused just after %s', async (_what, end) => {
    expect(await inOrder(end, () => create(`key:${manager}`))).toEqual(['done', 'invalid_api_key']);
    expect(await keysOf(`key:${manager}`)).toBe(0);
  });

  test.each(endings)('is revoked as well just before %s', async (_what, end) => {
    expect(await inOrder(() => create(`key:${manager}`), end)).toEqual(['done', 'done']);
    expect(await keysOf(`key:${manager}`)).toBe(1);
    expect(await workingKeysOf(`key:${manager}`)).toEqual([]);
  });
});
