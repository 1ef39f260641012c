import { Secret, TOTP } from 'otpauth';
import { expect, test } from 'vitest';
import { stepOfCode } from '#shared/people/sign-in/one-time-passwords.ts';

/** The secret of RFC 6238, appendix B: the digits 1 to 0, twice. */
const secret = 'GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ';

test.each([
  [59, '287082'],
  [1_111_111_109, '081804'],
  [1_111_111_111, '050471'],
  [1_234_567_890, '005924'],
  [2_000_000_000, '279037'],
  [20_000_000_000, '353130'],
])('accepts the code of RFC 6238 for %i seconds', (seconds, code) => {
  expect(stepOfCode(secret, code, new Date(seconds * 1_000))).toBe(Math.floor(seconds / 30));
});

test.each([
  [-60, null],
  [-30, 3],
  [30, 3],
  [60, null],
])('accepts the code of a clock that is off by one step: %i seconds', (drift, step) => {
  // The code of the step that begins after 90 seconds.
  const code = new TOTP({ secret: Secret.fromBase32(secret) }).generate({ timestamp: 105_000 });
  expect(stepOfCode(secret, code, new Date(105_000 - drift * 1_000))).toBe(step);
});
