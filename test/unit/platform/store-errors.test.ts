import { expect, test } from 'vitest';
import { isDatabaseUnavailable, isNothingDone } from '#shared/platform/store-errors.ts';

test.each([
  [
    'PgBouncer without PostgreSQL',
    { code: '08P01', message: 'server login has been failing, try again later' },
  ],
  ['a refused role', { code: '28000', message: 'no pg_hba.conf entry' }],
  ['a missing database', { code: '3D000', message: 'database "refunds" does not exist' }],
  ['an unknown certificate', { code: 'SELF_SIGNED_CERT_IN_CHAIN', message: 'self-signed certificate' }],
  ['a server without TLS', { message: 'The server does not support SSL connections' }],
])('%s is a database that is unavailable, and nothing was done', (_what, error) => {
  const thrown = Object.assign(new Error(error.message), error);
  expect([isDatabaseUnavailable(thrown), isNothingDone(thrown)]).toEqual([true, true]);
});

test('another violation of the protocol is an error of ours, of unknown outcome', () => {
  const thrown = Object.assign(new Error('invalid message format'), { code: '08P01' });
  expect([isDatabaseUnavailable(thrown), isNothingDone(thrown)]).toEqual([false, false]);
});
