import { expect, test } from 'vitest';
import { isDatabaseUnavailable, isNothingDone, storeTroubleOf } from '#shared/platform/store-errors.ts';

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

test.each([
  [
    'a wrong password',
    { code: 'P2010', meta: { driverAdapterError: { cause: { originalCode: '28P01' } } } },
    /password in DATABASE_URL/,
  ],
  ['a refused role', { code: '28000' }, /pg_hba.conf/],
  ['a missing database', { code: '3D000' }, /does not exist/],
  ['missing tables', { code: '42P01' }, /run the migration/],
  ['a replica', { code: '25006' }, /read-only replica/],
  ['too many connections', { code: '53300' }, /max_connections/],
  [
    'PgBouncer with settings',
    { message: 'unsupported startup parameter: options' },
    /ignore_startup_parameters/,
  ],
  ['an unknown authority', { code: 'SELF_SIGNED_CERT_IN_CHAIN' }, /NODE_EXTRA_CA_CERTS/],
  ['another host name', { code: 'ERR_TLS_CERT_ALTNAME_INVALID' }, /another host name/],
  ['no TLS', { message: 'The server does not support SSL connections' }, /offers no TLS/],
  ['an unknown host', { code: 'ENOTFOUND' }, /cannot be resolved/],
  ['a closed port', { code: 'ECONNREFUSED' }, /Nothing answers/],
])('%s is named with what to do', (_what, error, named) => {
  expect(storeTroubleOf(Object.assign(new Error(), error))).toMatch(named);
});

test('another error names no trouble of a store', () => {
  expect(storeTroubleOf(Object.assign(new Error('invalid message format'), { code: '08P01' }))).toBeNull();
});
