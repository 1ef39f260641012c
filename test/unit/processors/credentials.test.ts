import { describe, expect, test } from 'vitest';
import type { Environment } from '#shared/platform/environment.ts';
import { maskSecrets } from '#shared/processors/contract/calls.ts';
import { processorFailure } from '#shared/processors/contract/outcome.ts';
import { InvalidCredentialsError, type Processor } from '#shared/processors/contract/processor.ts';
import { processorKind, processorKinds, processorNames } from '#shared/processors/registry.ts';

const braintree = { merchantId: 'merchant', publicKey: 'public', privateKey: 'private' };

describe('the credentials of an account', () => {
  test.each([0, 480])(
    'are masked after %i other characters of a failure, which may be cut off',
    async (count) => {
      const secret = 'key0123456789abcdef0123456789abcdef';
      const failure = processorFailure('rejected', `${'-'.repeat(count)}${secret}${'-'.repeat(100)}`);
      const told = async () => ({ kind: 'rejected', failure });
      const { getPayment } = maskSecrets({ getPayment: told } as unknown as Processor, [secret]);
      const answer = await getPayment('ch_1', { timeoutMs: 1 });
      expect(JSON.stringify(answer)).toContain('[secret]');
      expect(JSON.stringify(answer)).not.toContain('key0');
    },
  );

  test.each<[string, Environment, object, object]>([
    [
      'stripe',
      'test',
      { secretKey: 'sk_test_x' },
      { secretKey: 'sk_test_x', apiBase: 'https://api.stripe.com' },
    ],
    [
      'stripe',
      'live',
      { secretKey: 'sk_live_x', apiBase: 'http://127.0.0.1:4010/' },
      { secretKey: 'sk_live_x', apiBase: 'http://127.0.0.1:4010' },
    ],
    [
      'braintree',
      'test',
      braintree,
      { ...braintree, apiBase: 'https://api.sandbox.braintreegateway.com', useApiRequestKey: false },
    ],
    [
      'braintree',
      'live',
      { ...braintree, useApiRequestKey: true },
      { ...braintree, apiBase: 'https://api.braintreegateway.com', useApiRequestKey: true },
    ],
  ])('%s, %s: %o is read, and can be read again', (name, environment, input, credentials) => {
    const kind = processorKind(name);
    expect(kind.parseCredentials(input, environment)).toEqual(credentials);
    expect(kind.parseCredentials(credentials, environment)).toEqual(credentials);
  });

  const secret = 'sk_test_topsecret';
  test.each<[string, Environment, unknown, string]>([
    ['stripe', 'test', { secretKey: 'sk_live_topsecret' }, 'secretKey'],
    ['stripe', 'live', { secretKey: secret }, 'secretKey'],
    ['stripe', 'test', { secretKey: 'pk_test_topsecret' }, 'secretKey'],
    ['stripe', 'test', { secretKey: `${secret}\n` }, 'secretKey'],
    ['stripe', 'test', { secretKey: 12 }, 'secretKey'],
    ['stripe', 'test', {}, 'secretKey'],
    ['stripe', 'test', null, 'credentials'],
    ['stripe', 'test', { secretKey: secret, apibase: 'topsecret' }, 'apibase'],
    ['stripe', 'test', { secretKey: secret, apiBase: 'topsecret' }, 'apiBase'],
    ['stripe', 'test', { secretKey: secret, apiBase: 'ftp://topsecret' }, 'apiBase'],
    ['stripe', 'test', { secretKey: secret, apiBase: 'https://a:topsecret@b' }, 'apiBase'],
    ['stripe', 'test', { secretKey: secret, apiBase: 'https://b/topsecret' }, 'apiBase'],
    ['stripe', 'live', { secretKey: 'sk_live_x', apiBase: 'http://topsecret' }, 'apiBase'],
    ['stripe', 'live', { secretKey: 'sk_live_x', apiBase: 'http://127.topsecret' }, 'apiBase'],
    ['braintree', 'test', { ...braintree, merchantId: 'topsecret/..' }, 'merchantId'],
    ['braintree', 'test', { ...braintree, publicKey: 'topsecret:x' }, 'publicKey'],
    ['braintree', 'test', { ...braintree, privateKey: '' }, 'privateKey'],
    ['braintree', 'test', { ...braintree, useApiRequestKey: 'topsecret' }, 'useApiRequestKey'],
    ['braintree', 'test', { ...braintree, apiBase: 'https://api.braintreegateway.com' }, 'apiBase'],
    ['braintree', 'live', { ...braintree, apiBase: 'https://api.sandbox.braintreegateway.com' }, 'apiBase'],
  ])('%s, %s: %o is refused, naming the field and not the value', (name, environment, input, field) => {
    const parse = () => processorKind(name).parseCredentials(input, environment);
    expect(parse).toThrow(InvalidCredentialsError);
    expect(parse).toThrow(new RegExp(`^${field}: `));
    expect(parse).not.toThrow(/topsecret/);
  });
});

describe('the registry', () => {
  test('has each processor under its own name', () => {
    expect(processorNames).toEqual(['stripe', 'braintree']);
    for (const [name, kind] of Object.entries(processorKinds)) expect(kind.name).toBe(name);
    expect(() => processorKind('paypal')).toThrow(RangeError);
    expect(() => processorKind('toString')).toThrow(RangeError);
  });

  test.each([
    ['ch_1', ['stripe'], ['stripe', 'braintree']],
    ['py_1', ['stripe'], ['stripe', 'braintree']],
    ['pi_1', ['stripe'], ['stripe', 'braintree']],
    ['cs_test_a1B2', ['stripe'], ['stripe', 'braintree']],
    ['in_1', ['stripe'], ['stripe', 'braintree']],
    ['cs_test_a1_secret_b2', [], ['braintree']],
    ['#1001', [], ['braintree']],
    ['a1b2c3d4', [], ['braintree']],
    ['ch_', [], ['braintree']],
    ['re_1', [], ['braintree']],
    ['pi_3MtwBwLkdIwHu7ix28a3tqPa_secret_YrKJUKribcBjcG8HVhfZluoGH', [], ['braintree']],
    ['ch_1/../x', [], []],
    ['', [], []],
  ])('%s is recognized by %j and possible for %j', (id, recognizing, possible) => {
    expect(processorNames.filter((name) => processorKind(name).recognizes(id))).toEqual(recognizing);
    expect(processorNames.filter((name) => processorKind(name).couldBe(id))).toEqual(possible);
  });
});
