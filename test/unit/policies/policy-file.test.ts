import { readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { defaultPolicy, policyFromRow, policyToRow } from '#shared/policies/policy.ts';
import {
  checkPolicyFile,
  digestPolicies,
  policyFileSchema,
  readPolicyFile,
} from '#shared/policies/policy-file.ts';
import { policy } from '../../support/refunds/policies.ts';

const file = (...rules: object[]) => ({
  policies: rules.map((rule, index) => ({ name: `Policy ${index}`, priority: 1, ...rule })),
});
const metadata = (count: number) =>
  Object.fromEntries(Array.from({ length: count }, (_, index) => [`key-${index}`, 'yes']));

describe('a file of policies', () => {
  test.each<[string, object, string]>([
    ['a misspelt field', { windowDay: 30 }, 'windowDay: there is no such field'],
    ['an empty window', { windowDays: 0 }, 'a whole number of days from 1'],
    ['more than 100 percent', { maxPercent: 101 }, 'a whole number of percent from 1 to 100'],
    ['a fraction of a percent', { maxPercent: 12.5 }, 'a whole number of percent from 1 to 100'],
    ['a fraction of a minor unit', { maxAmount: { amount: 1.5, currency: 'usd' } }, 'whole number of minor'],
    ['an unsafe integer', { approvalAbove: { api: 2 ** 53 } }, 'whole number of minor units'],
    ['an unknown currency', { match: { currencies: ['usx'] } }, 'ISO 4217'],
    ['an unknown processor', { match: { processors: ['paypal'] } }, 'unknown processor "paypal"'],
    ['an empty list', { match: { processors: [] } }, 'leave it out to match everything'],
    ['an unknown reason', { match: { reasons: ['late'] } }, 'must be one of: product_not_received'],
    ['a reversed range', { match: { amount: { min: 2, max: 1 } } }, 'min must not be greater than max'],
    ['an empty range', { match: { amount: {} } }, 'a min, a max or both'],
    ['nested metadata', { match: { metadata: { a: {} } } }, 'a string, a number or a boolean'],
    ['51 metadata keys', { match: { metadata: metadata(51) } }, 'match.metadata: must name 50 keys at most'],
    ['NUL in metadata', { match: { metadata: { a: '\0' } } }, 'NUL'],
    ['NUL in a metadata key', { match: { metadata: { '\0': 'a' } } }, 'NUL'],
    ['a choice for agents', { enforce: { mcp: false } }, 'mcp'],
    ['an empty limit per day', { velocity: { perDay: {} } }, 'a count, an amount or both'],
    ['an empty limit per requester', { velocity: { perRequesterDay: {} } }, 'a count, an amount or both'],
    [
      'a negative threshold per requester',
      { approvalAbovePerRequesterDay: { api: -1 } },
      'approvalAbovePerRequesterDay.api: must',
    ],
    [
      'a hold of more than an hour',
      { holdSeconds: { mcp: 3_601 } },
      'a whole number of seconds from 0 to 3600',
    ],
    ['a blank name', { name: ' ' }, 'must not be empty'],
    ['NUL in a name', { name: 'a\0b' }, 'printable'],
    ['a negative priority', { priority: -1 }, 'a whole number from 0 to 1000000'],
    ...['__proto__', 'constructor', 'prototype'].map((key): [string, object, string] => [
      `the metadata key ${key}`,
      { match: { metadata: JSON.parse(`{"a":"b","${key}":"x"}`) } },
      `match.metadata: must not name ${key}`,
    ]),
  ])('is rejected with %s, naming the place and the rule', (_what, broken, message) => {
    expect(() => readPolicyFile(file(broken))).toThrow('policies.0.');
    expect(() => readPolicyFile(file(broken))).toThrow(message);
  });

  test('has 1 to 100 policies with distinct names', () => {
    const numbered = (count: number) => file(...Array.from({ length: count }, () => ({})));
    expect(readPolicyFile(numbered(100))).toHaveLength(100);
    expect(() => readPolicyFile(numbered(101))).toThrow('policies: must have at most 100 policies');
    expect(() => readPolicyFile(file())).toThrow('policies: must contain at least one policy');
    expect(() => readPolicyFile(file({ name: 'a' }, { name: 'a' }))).toThrow(
      'policies.1.name: two policies are named "a"',
    );
  });

  test('reports thousands of invalid items of a list as one problem', () => {
    const wrong = Array.from({ length: 20_000 }, (_, index) => `x${index}`);
    for (const field of ['currencies', 'reasons', 'processors']) {
      for (const items of [wrong, wrong.map(Number)]) {
        const reading = checkPolicyFile(file({ match: { [field]: items } }));
        expect(reading).toMatchObject({ kind: 'invalid', issues: { length: 1 } });
      }
    }
  });

  test('can be pasted from the documentation', () => {
    const page = readFileSync(new URL('../../../docs/policies.md', import.meta.url), 'utf8');
    const example = /```json\n([\s\S]*?)```/.exec(page)?.[1] ?? '';
    expect(policyFileSchema.parse(JSON.parse(example)).policies).toContainEqual(defaultPolicy);
  });
});

describe('a policy', () => {
  test('is read from its row as it was written, with amounts as JSON numbers', () => {
    const whole = policy({
      match: { currencies: ['usd'], amount: { min: 1, max: 2 }, metadata: { tier: 'vip', n: 1, gift: true } },
      windowDays: 14,
      maxPercent: 80,
      maxAmount: { amount: 5000, currency: 'usd' },
      approvalAbove: { api: 1, dashboard: null },
      approvalAbovePerRequesterDay: { mcp: 4, api: null },
      velocity: { perTransaction: 1, perDay: { count: 2, amount: 3 }, perRequesterDay: { amount: 5 } },
      enforce: { api: true },
    });
    const row = policyToRow(whole);
    expect(row.rules.maxAmount).toEqual({ amount: 5000, currency: 'usd' });
    expect(policyFromRow(JSON.parse(JSON.stringify(row)))).toEqual(whole);
  });

  test('is stored without what earlier versions do not know, unless it is used', () => {
    expect(Object.keys(policyToRow(policy()).rules)).not.toContain('approvalAbovePerRequesterDay');
    expect(Object.keys(policyToRow(policy()).rules)).not.toContain('holdSeconds');
  });

  test('is read from its row when a rule for new files has become stricter', () => {
    const stored = policyToRow(policy({ match: { metadata: metadata(51) } }));
    expect(Object.keys(policyFromRow(stored).match.metadata ?? {})).toHaveLength(51);
  });

  test('is the same however it is written, and has the same digest', () => {
    const one = policy({
      match: {
        currencies: ['USD', 'eur', 'usd'],
        reasons: ['other', 'duplicate_charge'],
        processors: ['Stripe'],
      },
      approvalAbove: { api: 1, dashboard: null },
    });
    const other = policy({
      match: { reasons: ['duplicate_charge', 'other'], processors: ['stripe'], currencies: ['eur', 'usd'] },
      approvalAbove: { api: 1 },
    });
    expect(one).toStrictEqual(other);
    expect(policyToRow(one)).toStrictEqual(policyToRow(other));
    expect(digestPolicies([one])).toBe(digestPolicies([other]));
    expect(digestPolicies([one])).not.toBe(digestPolicies([{ ...one, priority: 2 }]));
  });
});
