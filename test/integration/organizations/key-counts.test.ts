import { expect, test } from 'vitest';
import { createApiKey, generateApiKey, maxKeys, revokeApiKey } from '#shared/organizations/api-keys.ts';
import { hashApiKey } from '#shared/organizations/find-api-key.ts';
import type { Environment } from '#shared/platform/environment.ts';
import { newId } from '#shared/platform/ids.ts';
import { usePeople } from '../../support/people.ts';

const people = usePeople();
const actor = 'cli:ada';
const dayMs = 86_400_000;

const newKey = (organizationId: string, environment: Environment = 'test') =>
  createApiKey(people.deps, { organizationId, environment, actor });

/** Stores test keys, and returns their ids. */
async function storeKeys(
  organizationId: string,
  count: number,
  times: { createdAt: Date; revokedAt?: Date },
): Promise<string[]> {
  const keys = Array.from({ length: count }, () => ({
    ...{ id: newId('key'), organizationId, environment: 'test' as const, lastFour: 'abcd', createdBy: actor },
    ...{ hash: hashApiKey(generateApiKey('test')), ...times },
  }));
  await people.deps.db.apiKey.createMany({ data: keys });
  return keys.map(({ id }) => id);
}

test('an environment has at most 1,000 API keys that are neither revoked nor expired', async () => {
  const organizationId = await people.addOrganization();
  const ids = await storeKeys(organizationId, maxKeys - 1, { createdAt: new Date(0) });
  const outcomes = await Promise.allSettled([1, 2, 3].map(() => newKey(organizationId)));
  expect(outcomes.filter(({ status }) => status === 'fulfilled')).toHaveLength(1);
  const refusal = {
    code: 'validation_error',
    message: expect.stringMatching(/already has 1000 API keys that are neither revoked nor expired/),
  };
  await expect(newKey(organizationId)).rejects.toMatchObject(refusal);
  await newKey(organizationId, 'live');
  const [revoked = '', expired = ''] = ids;
  await revokeApiKey(people.deps, { keyId: revoked, actor });
  await newKey(organizationId);
  await people.deps.db.apiKey.update({ where: { id: expired }, data: { expiresAt: new Date(0) } });
  await newKey(organizationId);
  await expect(newKey(organizationId)).rejects.toMatchObject(refusal);
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
