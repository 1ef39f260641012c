import { describe, expect, test } from 'vitest';
import { openLog } from '../../shared/log.ts';

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
    ['a card number in groups', '4242 4242 4242 4242'],
    ['the password of a database', 'postgresql://refunds:hunter2@db:5432/refunds'],
  ])('never shows %s, wherever it stands', (_what, secret) => {
    const spots = [
      written({ note: `before ${secret} after` }),
      written({ nested: { list: [`"${secret}"`] } }),
      written({ note: `a line\n${secret}\tand another` }),
      written({}, `in the message: ${secret}`),
      written({ err: new Error(`it said\n${secret}`) }),
    ];
    const telling = secret.startsWith('postgresql') ? 'hunter2' : secret;
    for (const line of spots) expect(line).not.toContain(telling);
  });

  test.each([
    'authorization',
    'credentials',
    'secretKey',
    'privateKey',
    'password',
    'apiKey',
    'idempotencyKey',
  ])('never shows a field named %s', (field) => {
    expect(written({ [field]: 'plain-words' })).not.toContain('plain-words');
    expect(written({ request: { [field]: 'plain-words' } })).not.toContain('plain-words');
  });

  test('writes one JSON object per line, with the times it was given', () => {
    const line = written({ responseTime: 3.123456789012345, note: 'über\n"quoted" \\ 🙂' });
    expect(line.endsWith('\n')).toBe(true);
    expect(JSON.parse(line)).toMatchObject({
      responseTime: 3.123456789012345,
      note: 'über\n"quoted" \\ 🙂',
      msg: 'something happened',
    });
  });
});
