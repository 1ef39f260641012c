import { expect, test } from 'vitest';
import {
  createApiKey,
  generateApiKey,
  maxAgentKeys,
  maxKeys,
  revokeApiKey,
} from '#shared/organizations/api-keys.ts';
import { hashApiKey } from '#shared/organizations/find-api-key.ts';
import type { Environment } from '#shared/platform/environment.ts';
import { newId } from '#shared/platform/ids.ts';
import { usePeople } from '../../support/people.ts';

const people = usePeople();
const actor = 'cli:ada';
const dayMs = 86_400_000;

const limits = { currency: 'usd' };
const newKey = (organizationId: string, environment: Environment = 'test', more: object = {}) =>
  createApiKey(people.deps, { organizationId, environment, actor, ...more });

/** Stores test keys, and returns their ids. */
async function storeKeys(
  organizationId: string,
  count: number,
  more: { createdAt: Date; revokedAt?: Date; agentLimits?: object },
): Promise<string[]> {
  const keys = Array.from({ length: count }, () => ({
    ...{ id: newId('key'), organizationId, environment: 'test' as const, lastFour: 'abcd', createdBy: actor },
    ...{ hash: hashApiKey(generateApiKey('test')), ...more },
  }));
  await people.deps.db.apiKey.createMany({ data: keys });
  return keys.map(({ id }) => id);
}

test.each([
  ['API keys that are neither revoked nor expired', maxKeys, {}, {}],
  ['agent keys', maxAgentKeys, { agentLimits: limits }, { agentLimits: limits }],
])('an environment has at most so many %s: %i', async (what, most, stored, asked) => {
  const organizationId = await people.addOrganization();
  const ids = await storeKeys(organizationId, most - 1, { createdAt: new Date(0), ...stored });
  const add = (environment?: Environment) => newKey(organizationId, environment, asked);
  const outcomes = await Promise.allSettled([add(), add(), add()]);
  expect(outcomes.filter(({ status }) => status === 'fulfilled')).toHaveLength(1);
  const refusal = {
    code: 'validation_error',
    message: expect.stringContaining(`This environment already has ${most} ${what}`),
  };
  await expect(add()).rejects.toMatchObject(refusal);
  await add('live');
  const [revoked = '', expired = ''] = ids;
  await revokeApiKey(people.deps, { keyId: revoked, actor });
  await add();
  await expect(add()).rejects.toMatchObject(refusal);
  if (most === maxAgentKeys) return;
  await people.deps.db.apiKey.update({ where: { id: expired }, data: { expiresAt: new Date(0) } });
  await add();
});

test('an environment gets at most 1,000 API keys in 24 hours, also when they are revoked at once', async () => {
  const organizationId = await people.addOrganization();
  const now = people.deps.clock.now();
  await storeKeys(organizationId, maxKeys, { createdAt: now, revokedAt: now });
  await expect(newKey(organizationId)).rejects.toThrow('in the last 24 hours');
  await newKey(organizationId, 'live');
  people.time.ms += dayMs;
  await newKey(organizationId);
});
