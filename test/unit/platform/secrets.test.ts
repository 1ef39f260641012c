import { randomBytes } from 'node:crypto';
import { expect, test } from 'vitest';
import { SecretBox, SecretUnreadableError } from '#shared/platform/secrets/secrets.ts';

const box = new SecretBox([randomBytes(32).toString('base64')]);

test('opens what it sealed, in the same context', () => {
  for (const text of ['', 'a secret']) expect(box.open(box.seal(text, 'row'), 'row')).toBe(text);
  expect(() => box.open(box.seal('a secret', 'row'), 'another row')).toThrow(SecretUnreadableError);
});

// A tag of four bytes is guessed in four billion attempts, one of sixteen never.
test.each([4, 15])('refuses a secret whose tag was shortened to %i bytes', (length) => {
  const { keyId, bytes } = box.seal('', 'row');
  expect(() => box.open({ keyId, bytes: bytes.slice(0, 12 + length) }, 'row')).toThrow(SecretUnreadableError);
});
