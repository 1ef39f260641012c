import { describe, expect, test } from 'vitest';
import { errorBody } from '#api/http/error-handler.ts';
import { ServiceError } from '#shared/platform/errors.ts';
import { openLog, redact } from '#shared/platform/log.ts';
import { tooLittleLeft } from '#shared/refunds/model/refusals.ts';
import { newCard } from '../../support/http/canaries.ts';

/** What a log writes of one entry. */
function written(fields: object, message = 'something happened'): string {
  const lines: string[] = [];
  openLog('info', 'test', { write: (line: string) => lines.push(line) }).info(fields, message);
  expect(lines).toHaveLength(1);
  return lines[0] ?? '';
}

describe('the log', () => {
  test.each([
    ['an API key', 'svc_live_abcdefghijklmnopqrstuvwxyz012345'],
    ['a Stripe key', 'sk_live_51HabcdefGHIJKL'],
    ['a restricted Stripe key', 'rk_test_51HabcdefGHIJKL'],
    ['a card number', '4242424242424242'],
    ['a webhook secret', 'whsec_51HabcdefGHIJKL'],
    ['a client secret', 'pi_3MtwBwLkdIwHu7ix28a3tqPa_secret_YrKJUKribcBjcG8HVhfZluoGH'],
    ['credentials of HTTP', `Basic ${Buffer.from('public:a long private key').toString('base64')}`],
    ['the password of a database', 'postgresql://refunds:hunter2@db:5432/refunds'],
    ['a password with a slash and an @', 'postgresql://refunds:a/hunter2@b@db:5432/refunds'],
    ['the passwords of a Redis Cluster', 'redis://:hunter2@a:6379,redis://:hunter2@b:6379'],
  ])('redacts %s everywhere', (_what, secret) => {
    const spots = [
      written({ note: `before ${secret} after` }),
      written({ nested: { list: [`"${secret}"`] } }),
      written({ note: `a line\n${secret}\tand another` }),
      written({}, `in the message: ${secret}`),
      written({ err: new Error(`it said\n${secret}`) }),
    ];
    const telling = secret.includes('hunter2') ? 'hunter2' : secret;
    for (const line of spots) expect(line).not.toContain(telling);
  });

  test.each(['authorization', 'credentials', 'secretKey', 'password', 'idempotencyKey'])(
    'redacts a field named %s',
    (field) => {
      const nested = { a: [{ b: { c: { [field]: { value: 'plain-words' } } } }] };
      for (const fields of [{ [field]: 'plain-words' }, nested]) {
        expect(written(fields)).not.toContain('plain-words');
      }
    },
  );

  test('writes only the type, message, stack and causes of an error', () => {
    const cause = new Error('the cause');
    const error = Object.assign(new TypeError('it said', { cause }), {
      code: 'WRONGPASS',
      command: { name: 'auth', args: ['plain-words'] },
    });
    const line = written({ err: error });
    expect(line).not.toContain('plain-words');
    const told = { type: 'TypeError', message: expect.stringContaining('it said'), code: 'WRONGPASS' };
    expect(JSON.parse(line).err).toMatchObject({ ...told, stack: expect.stringContaining('the cause') });
  });

  test.each([
    ['a refused connection', Object.assign(new Error('connect\n  ECONNREFUSED'), { code: 'ECONNREFUSED' })],
    ['a Redis that does not answer', new Error('Command timed out')],
    ['an answer of 503', new ServiceError('service_unavailable', 'Retry in a few seconds.')],
  ])('writes expected trouble without a stack: %s', (_what, error) => {
    const { err } = JSON.parse(written({ err: error }));
    expect(err.message).toBe(error.message.replace(/\s+/g, ' '));
    expect(err).not.toHaveProperty('stack');
  });

  test('writes one JSON object per line and keeps numbers', () => {
    const line = written({ responseTime: 3.123456789012345, note: 'über\n"quoted" \\ 🙂' });
    expect(line.endsWith('\n')).toBe(true);
    expect(JSON.parse(line)).toMatchObject({
      responseTime: 3.123456789012345,
      note: 'über\n"quoted" \\ 🙂',
      msg: 'something happened',
    });
  });
});

describe('card numbers', () => {
  test.each([13, 14, 15, 16, 17, 18, 19])('of %i digits are redacted', (length) => {
    for (let time = 0; time < 50; time++) {
      expect(redact(`card ${newCard('a card', length).text}.`)).toBe('card [digits redacted].');
    }
  });

  test.each([
    ['4242 4242 4242 4242', '[digits redacted]'],
    ['4242-4242-4242-4242', '[digits redacted]'],
    ['4242%204242%2B4242%2d4242', '[digits redacted]'],
    ['card=%204242%204242%204242%204242', 'card=%[digits redacted]'],
    ['%224242424242424242%22', '%[digits redacted]%22'],
    ['3782 822463 10005', '[digits redacted]'],
    ['x4242424242424242x', 'x[digits redacted]x'],
    ['4242 4242 4242 4242 12 2030 123', '[digits redacted]'],
    ['order 17 4242 4242 4242 4242', 'order [digits redacted]'],
    ['42424242424242421230123', '[digits redacted]'],
  ])('%s is redacted in groups', (text, masked) => {
    expect(redact(text)).toBe(masked);
  });
});

describe('other numbers stay as they are', () => {
  test('in our own messages', () => {
    expect(errorBody(tooLittleLeft(9_007_199_254_740_991n, 'usd')).error.message).toBe(
      'amount: must be at most 9007199254740991 (90071992547409.91 USD), which is left to refund.',
    );
  });

  test.each([
    ['a time', 'closed on 2026-01-31T12:00:00.000Z'],
    ['milliseconds since 1970', 'at 1795341600000'],
    ['an id', 'ref_01kahw3v6me8fbw6r5k2jdz7qs and 018f4d2e-1111-7000-8000-123456789012'],
    ['a number with a wrong check digit', '4242424242424241'],
    ['fewer digits than a card has', '424242424242'],
  ])('%s', (_, text) => {
    expect(redact(text)).toBe(text);
  });
});
