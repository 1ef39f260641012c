import { readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { digestPolicies } from '../../../shared/policies/digest.ts';
import {
  defaultPolicy,
  type PolicyInput,
  policyFileSchema,
  policyFromRow,
  policySchema,
  policyToRow,
} from '../../../shared/policies/policy.ts';
import { checkPolicyFile, readPolicyFile } from '../../../shared/policies/read-policy-file.ts';
import {
  asked,
  deadline,
  evaluate,
  facts,
  type Given,
  lastRule,
  policy,
  refund,
} from '../../support/refunds/policies.ts';

describe('limits', () => {
  test.each<[bigint, number, bigint]>([
    [10_000n, 100, 10_000n],
    [9_999n, 50, 4_999n],
    [101n, 33, 33n],
    [3n, 66, 1n],
    [1n, 99, 0n],
    [9_007_199_254_740_993n, 99, 8_917_127_262_193_583n],
  ])('of %s minor units %i percent are exactly %s', (amount, maxPercent, maximum) => {
    expect(evaluate({ maxPercent }, facts({ transaction: { amount } })).maxAmount).toBe(maximum);
  });

  test.each<[string, Partial<PolicyInput>, Given, bigint]>([
    ['a share counts earlier refunds', { maxPercent: 50 }, { refunds: [refund(3000n)] }, 2000n],
    [
      'a share counts refunds made outside',
      { maxPercent: 50 },
      { transaction: { refundedOutside: 4999n } },
      1n,
    ],
    [
      'a maximum counts earlier refunds',
      { maxAmount: { amount: 4000, currency: 'usd' } },
      { refunds: [refund(3000n)] },
      1000n,
    ],
    ['a maximum in another currency is ignored', { maxAmount: { amount: 1, currency: 'eur' } }, {}, 10_000n],
    [
      'the lower of both limits counts',
      { maxPercent: 30, maxAmount: { amount: 2000, currency: 'usd' } },
      {},
      2000n,
    ],
    ['what remains is never exceeded', { maxAmount: { amount: 99_999, currency: 'usd' } }, {}, 10_000n],
    [
      'the amount per day leaves its rest',
      { velocity: { perDay: { amount: 500 } } },
      { velocity: { refundsInLastDay: 9, amountInLastDay: 400n } },
      100n,
    ],
  ])('%s', (_promise, rules, given, maximum) => {
    expect(evaluate(rules, facts(given))).toMatchObject({ eligible: true, maxAmount: maximum });
    expect(evaluate(rules, asked(maximum, given))).toMatchObject({ eligible: true, maxAmount: maximum });
    const verdict = evaluate(rules, asked(maximum + 1n, given));
    expect(verdict).toMatchObject({ eligible: false, maxAmount: maximum });
    expect(verdict.conditions).toContainEqual(expect.stringMatching(/^Remaining amount: /));
    expect(lastRule(verdict)).toBe('limit');
  });

  test('a used-up limit leaves nothing, although the payment has money left', () => {
    const verdict = evaluate({ maxPercent: 30 }, facts({ refunds: [refund(3000n)] }));
    expect(verdict).toMatchObject({ eligible: false, maxAmount: 0n });
    expect(verdict.reason).toMatch(
      /^Nothing is left of the 30% of this payment that the policy "Shop" allows/,
    );
    expect(verdict.conditions).toContain('Remaining amount: 70.00 USD');
  });
});

test('a final sale is not refunded, whatever the window and the amount', () => {
  const verdict = evaluate({ finalSale: true, windowDays: 30 }, asked(1n));
  expect(verdict).toMatchObject({ eligible: false, maxAmount: null, deadline: null });
  expect(verdict.conditions).toEqual(['Final sale: no refunds']);
});

describe('velocity', () => {
  const perTransaction = { velocity: { perTransaction: 2 }, windowDays: 30 };
  const live = [refund(1n), refund(1n, 'pending')];

  test('a payment has only so many refunds; failed and cancelled ones do not count', () => {
    const dead = [refund(1n, 'failed'), refund(1n, 'cancelled')];
    expect(evaluate(perTransaction, facts({ refunds: [refund(1n), ...dead] })).eligible).toBe(true);
    const verdict = evaluate(perTransaction, facts({ refunds: live }));
    expect(verdict).toMatchObject({ eligible: false, maxAmount: null, deadline: null });
  });

  test.each([
    ['count', 4, 499n, null],
    ['count', 5, 0n, 'allows 5 refunds in 24 hours'],
    ['amount', 0, 500n, 'allows 5.00 USD in 24 hours'],
    ['count and amount', 6, 501n, 'allows 5 refunds and 5.00 USD in 24 hours'],
  ])('the %s of a day: after %i refunds of %s minor units -> %s', (_what, count, amount, reason) => {
    const velocity = { refundsInLastDay: count, amountInLastDay: amount };
    const rules = { velocity: { perDay: { count: 5, amount: 500 } }, windowDays: 30 };
    const verdict = evaluate(rules, facts({ velocity }));
    expect(verdict).toMatchObject({
      eligible: reason === null,
      maxAmount: reason === null ? 1n : null,
      deadline,
    });
    if (reason !== null) expect(verdict.reason).toMatch(new RegExp(`${reason}.*Try again`));
  });
});

describe('approval and enforcement', () => {
  const approvalAbove = { api: 500, dashboard: null, mcp: 0 };
  test.each([
    ['api', 500n, false],
    ['api', 501n, true],
    ['api', null, false],
    ['dashboard', 10_000n, false],
    ['mcp', 1n, true],
    ['mcp', null, true],
  ] as const)('a refund over %s of %s waits for a person: %s', (initiatedBy, amount, required) => {
    const verdict = evaluate({ approvalAbove }, facts({ request: { initiatedBy, amount } }));
    expect(verdict).toMatchObject({ eligible: true, approvalRequired: required });
    expect(verdict.reason.includes('approve')).toBe(required);
  });

  test('a denial that is only advice still tells that approval is needed', () => {
    const verdict = evaluate({ approvalAbove, finalSale: true }, asked(501n));
    expect(verdict).toMatchObject({ eligible: false, enforced: false, approvalRequired: true });
  });

  test.each([
    ['api', {}, false],
    ['dashboard', {}, false],
    ['api', { api: true }, true],
    ['dashboard', { api: true }, false],
    ['dashboard', { dashboard: true }, true],
    ['mcp', {}, true],
    ['mcp', { api: false, dashboard: false }, true],
  ] as const)('for %s, with %j, the policy is binding: %s', (initiatedBy, enforce, enforced) => {
    expect(evaluate({ enforce }, facts({ request: { initiatedBy } })).enforced).toBe(enforced);
  });
});

describe('a policy in JSON', () => {
  test.each<[string, object, string]>([
    ['a misspelt field', { windowDay: 30 }, 'windowDay'],
    ['an empty window', { windowDays: 0 }, 'a whole number of days from 1'],
    ['more than everything', { maxPercent: 101 }, 'a whole number of percent from 1 to 100'],
    ['a broken percentage', { maxPercent: 12.5 }, 'a whole number of percent from 1 to 100'],
    [
      'a fraction of a minor unit',
      { maxAmount: { amount: 1.5, currency: 'usd' } },
      'whole number of minor units',
    ],
    ['an unsafe integer', { approvalAbove: { api: 2 ** 53 } }, 'whole number of minor units'],
    ['a currency that does not exist', { match: { currencies: ['usx'] } }, 'ISO 4217'],
    ['an empty list', { match: { processors: [] } }, 'leave it out to match everything'],
    [
      'a reason that does not exist',
      { match: { reasons: ['late'] } },
      'must be one of: product_not_received',
    ],
    ['a range upside down', { match: { amount: { min: 2, max: 1 } } }, 'min must not be greater than max'],
    ['an empty range', { match: { amount: {} } }, 'a min, a max or both'],
    ['nested metadata', { match: { metadata: { a: {} } } }, 'a string, a number or a boolean'],
    ['a choice for agents', { enforce: { mcp: false } }, 'mcp'],
    ['an empty limit per day', { velocity: { perDay: {} } }, 'a count, an amount or both'],
    ['no name', { name: ' ' }, 'must not be empty'],
  ])('with %s is refused, and the message helps', (_what, broken, message) => {
    const result = policySchema.safeParse({ name: 'Shop', priority: 1, ...broken });
    expect(result.success).toBe(false);
    if (result.error) expect(z.prettifyError(result.error)).toContain(message);
  });

  test('comes back from its row unchanged, with amounts as JSON numbers on the way', () => {
    const whole = policy({
      match: { currencies: ['usd'], amount: { min: 1, max: 2 }, metadata: { tier: 'vip', n: 1, gift: true } },
      windowDays: 14,
      maxPercent: 80,
      maxAmount: { amount: 5000, currency: 'usd' },
      approvalAbove: { api: 1, dashboard: null },
      velocity: { perTransaction: 1, perDay: { count: 2, amount: 3 } },
      enforce: { api: true },
    });
    const row = policyToRow(whole);
    expect(row.rules.maxAmount).toEqual({ amount: 5000, currency: 'usd' });
    expect(policyFromRow(JSON.parse(JSON.stringify(row)))).toEqual(whole);
  });

  test('is the same policy however it is written, and has the same fingerprint', () => {
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
  });

  test('the example of the documentation can be pasted', () => {
    const page = readFileSync(new URL('../../../docs/policies.md', import.meta.url), 'utf8');
    const example = /```json\n([\s\S]*?)```/.exec(page)?.[1] ?? '';
    expect(policyFileSchema.parse(JSON.parse(example)).policies).toContainEqual(defaultPolicy);
  });

  test('a file has a hundred policies at most', () => {
    const file = (count: number) => ({
      policies: Array.from({ length: count }, (_, index) => ({ name: `Policy ${index}`, priority: index })),
    });
    expect(readPolicyFile(file(100))).toHaveLength(100);
    expect(() => readPolicyFile(file(101))).toThrow('policies: must have 100 policies at most');
  });

  test('a policy compares as many values of metadata as a refund can have, and no more', () => {
    const metadata = (count: number) =>
      Object.fromEntries(Array.from({ length: count }, (_, index) => [`key-${index}`, 'yes']));
    const file = (count: number) => ({
      policies: [{ name: 'A', priority: 1, match: { metadata: metadata(count) } }],
    });
    expect(readPolicyFile(file(50))).toHaveLength(1);
    expect(() => readPolicyFile(file(51))).toThrow('policies.0.match.metadata: must name 50 keys at most');
    // One that was set before there was this rule still holds.
    const stored = policyToRow(policy({ match: { metadata: metadata(51) } }));
    expect(Object.keys(policyFromRow(stored).match.metadata ?? {})).toHaveLength(51);
  });

  test.each(['__proto__', 'constructor', 'prototype'])(
    'a policy that asks for the key %s, which no refund has, is refused',
    (key) => {
      const file = JSON.parse(
        `{"policies":[{"name":"A","priority":1,"match":{"metadata":{"a":"b","${key}":"x"}}}]}`,
      );
      expect(() => readPolicyFile(file)).toThrow(`policies.0.match.metadata: must not name ${key}`);
    },
  );

  test('thousands of wrong items of a list are one problem', () => {
    const wrong = Array.from({ length: 20_000 }, (_, index) => `x${index}`);
    for (const field of ['currencies', 'reasons', 'processors']) {
      for (const items of [wrong, wrong.map(Number)]) {
        const reading = checkPolicyFile({
          policies: [{ name: 'A', priority: 1, match: { [field]: items } }],
        });
        expect(reading).toMatchObject({ kind: 'invalid', issues: { length: 1 } });
      }
    }
  });

  test('a file needs at least one policy, each with a name of its own', () => {
    const message = (policies: object[]) =>
      policyFileSchema.safeParse({ policies }).error?.issues[0]?.message;
    expect(message([])).toMatch(/at least one policy/);
    expect(
      message([
        { name: 'a', priority: 1 },
        { name: 'a', priority: 2 },
      ]),
    ).toBe('two policies are named "a"');
    expect(message([{ name: 'a', priority: 1 }])).toBeUndefined();
  });
});
