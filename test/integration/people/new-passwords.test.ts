import { randomBytes } from 'node:crypto';
import { beforeAll, describe, expect, test } from 'vitest';
import { createUser } from '#shared/people/members/users.ts';
import { newEmail, usePeople } from '../../support/people.ts';

const people = usePeople();
let organizationId: string;

beforeAll(async () => {
  organizationId = await people.addOrganization();
});

describe('a new password', () => {
  const add = (email: string, password: string) =>
    createUser(people.deps, { organizationId, email, password, role: 'viewer', actor: 'test' });

  test.for([
    [11, false],
    [12, true],
    [128, true],
    [129, false],
  ] as const)('of %i characters is accepted: %s', async ([length, isAccepted]) => {
    const added = add(newEmail(), randomBytes(64).toString('hex').padEnd(129, 'x').slice(0, length));
    const refusal = { code: 'validation_error', message: expect.stringMatching(/12 to 128/) };
    if (isAccepted) await expect(added).resolves.toHaveProperty('id');
    else await expect(added).rejects.toMatchObject(refusal);
  });

  test.each([
    'passwordpassword',
    'Password1234!',
    'iloveyou1234',
    'administrator',
    '123456789012',
    'aaaaaaaaaaaa',
    'qwertyuiop12',
    'abcabcabcabc',
    `${'qwertyuiop'.repeat(12)}`,
  ])('must not be easy to guess, such as %s', async (password) => {
    const message = 'password: is easy to guess. Use a longer one, such as four unrelated words.';
    await expect(add(newEmail(), password)).rejects.toMatchObject({ code: 'validation_error', message });
  });

  test.each(['correct horse battery', 'Tr4vel-by-slow-train', '7f3k-92mq-x8wd'])(
    'may be %s',
    async (password) => {
      await expect(add(newEmail(), password)).resolves.toHaveProperty('id');
    },
  );
});
