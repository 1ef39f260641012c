import { describe, expect, test } from 'vitest';
import { readingStrictJson, readStrictJson } from '#api/http/strict-json.ts';
import { metadataLimits } from '#shared/refund-request/metadata.ts';

const repeated = (unit: string, count: number) => Array.from({ length: count }, () => unit).join(',');
const nested = (levels: number) => `${'['.repeat(levels)}${']'.repeat(levels)}`;

/** Of the 4 MiB that a batch may have. */
const count = 500_000;

describe('refuses a text that would take far more memory than it has characters', () => {
  test.each([
    ['deep lists', `[${repeated(nested(1_000), count / 1_000)}]`, 'nested too deeply'],
    ['deep objects', '{"a":'.repeat(count), 'nested too deeply'],
    ['deepest lists that are allowed', `[${repeated(nested(32), count / 32)}]`, 'values'],
    ['empty lists', `[${repeated('[]', count)}]`, 'values'],
    ['empty objects', `[${repeated('{}', count)}]`, 'values'],
    ['scalars', `[${repeated('1', count)}]`, 'values'],
    ['one key again and again', `{${repeated('"a":1', count)}}`, 'keys'],
    [
      'many keys',
      `{${Array.from({ length: count / 10 }, (_, index) => `"${index}":"${'x'.repeat(30)}"`)}}`,
      'keys',
    ],
  ])('%s', (_what, text, problem) => {
    expect(readStrictJson(text)).toEqual({ kind: 'invalid', problem: expect.stringContaining(problem) });
  });
});

describe('reads the largest metadata', () => {
  const { values, depth } = metadataLimits;
  test.each([
    ['of single digits', `[${repeated('1', values - 1)}]`],
    ['of empty lists', `[${repeated('[]', values - 1)}]`],
    ['of deep lists', `[${repeated(nested(depth - 2), values / depth)}]`],
    ['of short keys', `{${Array.from({ length: values - 1 }, (_, index) => `"${index.toString(36)}":1`)}}`],
  ])('%s', (_what, value) => {
    const text = `{"transactionId":"ch_1","amount":1,"reason":"other","metadata":{"a":${value}}}`;
    expect(readStrictJson(text)).toEqual({ kind: 'valid', value: JSON.parse(text) });
  });
});

test('reads a large batch in pieces, so that other requests are answered meanwhile', () => {
  const row = { transactionId: 'ch_3QfX2eLkdIwHu7ix', amount: 1_500, reason: 'other' };
  const rows = Array.from({ length: 10_000 }, (_, index) => ({ ...row, metadata: { order: `${index}` } }));
  const text = JSON.stringify({ rows });
  const reading = readingStrictJson(text);
  let pieces = 1;
  for (let step = reading.next(); ; step = reading.next(), pieces += 1) {
    if (!step.done) continue;
    expect(step.value).toEqual({ kind: 'valid', value: { rows } });
    break;
  }
  // Six values a row.
  expect(pieces).toBeGreaterThan((6 * rows.length) / 10_000);
});

test('refuses a key that occurs twice with different values, a list and an object included', () => {
  const problem = 'a key occurs twice with different values';
  expect(readStrictJson('{"a":[],"a":{}}')).toEqual({ kind: 'invalid', problem });
  expect(readStrictJson('{"a":[1],"\\u0061":[1]}')).toEqual({ kind: 'valid', value: { a: [1] } });
});
