import { randomBytes } from 'node:crypto';
import { expect, test } from 'vitest';
import { checkNewPassword } from '#shared/people/sign-in/passwords.ts';

const check = (password: string) =>
  checkNewPassword({ email: 'ada@example.com', organizationNames: ['Acme'] }, password);
const refusal = (message: unknown) => ({ code: 'validation_error', message });

test('a new password has 12 to 128 characters', async () => {
  const text = randomBytes(65).toString('hex');
  for (const length of [12, 128]) await expect(check(text.slice(0, length))).resolves.toBeUndefined();
  for (const length of [11, 129]) {
    await expect(check(text.slice(0, length))).rejects.toMatchObject(
      refusal(expect.stringMatching(/12 to 128/)),
    );
  }
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
  await expect(check(password)).rejects.toMatchObject(refusal(message));
});

test.each([' Ada@example.com', 'ada@EXAMPLE.com'])('is not the email address, as in %s', async (password) => {
  const message = 'password: must not be the email address or the name of the organization.';
  await expect(check(password)).rejects.toMatchObject(refusal(message));
});

test.each(['correct horse battery', 'Tr4vel-by-slow-train', '7f3k-92mq-x8wd'])(
  'may be %s',
  async (password) => {
    await expect(check(password)).resolves.toBeUndefined();
  },
);
