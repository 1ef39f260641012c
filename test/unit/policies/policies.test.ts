import { describe, expect, test } from 'vitest';
import {
  evaluatePolicies,
  unknownTransaction,
  unrefundableTransaction,
} from '../../../shared/policies/evaluate.ts';
import { defaultPolicy, type PolicyInput } from '../../../shared/policies/policy.ts';
import {
  asked,
  deadline,
  evaluate,
  facts,
  type Given,
  lastRule,
  later,
  policy,
  refund,
  type Status,
} from '../../support/refunds/policies.ts';

describe('the result of a policy check', () => {
  test('a payment inside the window is eligible, with the whole amount and the deadline', () => {
    expect(evaluatePolicies([defaultPolicy], facts())).toMatchObject({
      eligible: true,
      maxAmount: 10_000n,
      deadline,
      policyName: 'Default 30-day policy',
      enforced: false,
      approvalRequired: false,
      reason: expect.stringContaining('at most 100.00 USD by 2026-01-31T12:00:00.000Z'),
    });
  });

  test.each([
    ['a millisecond before the deadline', -1, true],
    ['exactly at the deadline', 0, true],
    ['a millisecond after the deadline', 1, false],
  ])('%s a refund is possible: %d ms, %s', (_when, ms, eligible) => {
    const verdict = evaluatePolicies([defaultPolicy], facts({ now: later(deadline, ms) }));
    expect(verdict.eligible).toBe(eligible);
    expect(verdict.deadline).toEqual(eligible ? deadline : null);
  });

  test('outside the window neither an amount nor a deadline is named', () => {
    expect(evaluatePolicies([defaultPolicy], asked(1n, { now: later(deadline, 1) }))).toMatchObject({
      eligible: false,
      maxAmount: null,
      deadline: null,
      reason: expect.stringMatching(/30 days .* closed on 2026-01-31T12:00:00.000Z\. Ask an administrator/),
    });
  });

  test('an amount too large is answered with what remains, the deadline and the arithmetic', () => {
    const given = asked(8000n, { refunds: [refund(3000n)], transaction: { refundedOutside: 1000n } });
    const verdict = evaluatePolicies([defaultPolicy], given);
    expect(verdict).toMatchObject({ eligible: false, maxAmount: 6000n, deadline });
    expect(verdict.reason).toBe(
      '80.00 USD is more than the 60.00 USD left of this payment. Ask for at most 60.00 USD.',
    );
    expect(verdict.conditions).toEqual([
      'Original amount: 100.00 USD',
      'Previous partial refunds: 40.00 USD ' +
        '(1 refund by this service, the last on 2026-01-01T12:00:00.000Z, 10.00 USD outside this service)',
      'Remaining amount: 60.00 USD',
      'Refund window: 30 days after the charge, open until 2026-01-31T12:00:00.000Z',
    ]);
  });

  test('an amount too large without earlier refunds says that there were none', () => {
    expect(evaluate({}, asked(10_001n)).conditions).toEqual([
      'Original amount: 100.00 USD',
      'Previous partial refunds: none',
      'Remaining amount: 100.00 USD',
    ]);
  });

  test.each([
    ['inside', deadline, deadline],
    ['outside', later(deadline, 1), null],
  ])('a fully refunded payment has nothing left, %s the window', (_where, now, expected) => {
    const verdict = evaluatePolicies([defaultPolicy], facts({ now, refunds: [refund(10_000n)] }));
    expect(verdict).toMatchObject({ eligible: false, maxAmount: 0n, deadline: expected });
    expect(lastRule(verdict)).toBe('fullyRefunded');
    expect(verdict.conditions).toContain('Remaining amount: 0.00 USD');
  });

  test('more taken than was paid leaves nothing, and never less than nothing', () => {
    expect(evaluate({}, facts({ transaction: { refundedOutside: 10_001n } })).maxAmount).toBe(0n);
  });

  test('an unknown transaction is not eligible, and the reason says that it was not found', () => {
    expect(unknownTransaction('ch_1', 'mcp')).toMatchObject({
      eligible: false,
      maxAmount: null,
      deadline: null,
      conditions: [],
      policyName: null,
      enforced: true,
      reason: expect.stringContaining('ch_1 was not found'),
    });
  });

  test('a payment of which its processor refunds nothing is not eligible, for that reason', () => {
    const failure = { code: 'charge_failed', message: 'The payment failed.' };
    expect(unrefundableTransaction('ch_1', failure, 'api')).toEqual({
      ...{ eligible: false, reason: 'The payment failed.', maxAmount: null, deadline: null, conditions: [] },
      ...{ policyName: null, enforced: false, approvalRequired: false, limits: null },
      trace: [
        {
          rule: 'transaction',
          facts: { transactionId: 'ch_1', failure: 'charge_failed' },
          outcome: 'denied',
        },
      ],
    });
  });

  test('without a matching policy all that remains can be refunded, with no deadline', () => {
    const expected = { eligible: true, maxAmount: 7000n, deadline: null, policyName: null, enforced: false };
    expect(evaluatePolicies([], facts({ refunds: [refund(3000n)] }))).toMatchObject(expected);
    expect(evaluatePolicies([], asked(7001n, { refunds: [refund(3000n)] })).eligible).toBe(false);
  });
});

test.each<[Status, bigint]>([
  ['pending', 6000n],
  ['processing', 6000n],
  ['completed', 6000n],
  ['failed', 10_000n],
  ['cancelled', 10_000n],
])('after a %s refund of 40.00 of 100.00, %s minor units are left', (status, left) => {
  expect(evaluate({}, facts({ refunds: [refund(4000n, status)] })).maxAmount).toBe(left);
});

const duplicate = { reason: 'duplicate_charge' } as const;
const vip = { metadata: { tier: 'vip', nested: {} } };

test.each<[string, PolicyInput['match'], Given]>([
  ['anything', {}, {}],
  ['a processor on the list', { processors: ['Stripe'] }, {}],
  ['a currency on the list', { currencies: ['EUR', 'USD'] }, {}],
  ['a reason on the list', { reasons: ['duplicate_charge'] }, { request: duplicate }],
  ['the smallest amount', { amount: { min: 500 } }, { request: { amount: 500n } }],
  ['the largest amount', { amount: { max: 500 } }, { request: { amount: 500n } }],
  ['a request without an amount', { amount: { min: 500, max: 500 } }, {}],
  ['a request with all its metadata', { metadata: { tier: 'vip' } }, { request: vip }],
])('a policy matches %s', (_what, match, given) => {
  expect(evaluate({ match }, facts(given)).policyName).toBe('Shop');
});

test.each<[string, PolicyInput['match'], Given]>([
  ['a processor not on the list', { processors: ['braintree'] }, {}],
  ['a currency not on the list', { currencies: ['eur'] }, {}],
  ['a reason not on the list', { reasons: ['other'] }, { request: duplicate }],
  ['a request without a reason', { reasons: ['other'] }, {}],
  ['less than the smallest amount', { amount: { min: 500 } }, { request: { amount: 499n } }],
  ['more than the largest amount', { amount: { max: 500 } }, { request: { amount: 501n } }],
  ['another metadata value', { metadata: { tier: 'basic' } }, { request: vip }],
  ['a metadata value of another type', { metadata: { n: 1 } }, { request: { metadata: { n: '1' } } }],
  ['a request that lacks one key of two', { metadata: { tier: 'vip', n: 1 } }, { request: vip }],
  ['a key that is only inherited', { metadata: { toString: 'x' } }, { request: { metadata: {} } }],
  ['a request without metadata', { metadata: { tier: 'vip' } }, {}],
])('a policy does not match %s', (_what, match, given) => {
  expect(evaluate({ match }, facts(given)).policyName).toBeNull();
});

describe('the order of policies', () => {
  test('the lowest priority number decides, and the trace tells who was asked', () => {
    const verdict = evaluatePolicies(
      [
        policy({ name: 'Never asked', priority: 30, finalSale: true }),
        policy({ name: 'Decides', priority: 20 }),
        policy({ name: 'Euros', priority: 10, match: { currencies: ['eur'] } }),
      ],
      facts(),
    );
    expect(verdict.policyName).toBe('Decides');
    expect(
      verdict.trace.map(({ rule, facts, outcome }) => [rule, facts.policy, facts.mismatch, outcome]),
    ).toEqual([
      ['match', 'Euros', 'currencies', 'notMatched'],
      ['match', 'Decides', null, 'matched'],
      ['fullyRefunded', undefined, undefined, 'passed'],
      ['limit', undefined, undefined, 'passed'],
    ]);
  });

  test('between equal priorities the name decides', () => {
    expect(evaluatePolicies([policy({ name: 'b' }), policy({ name: 'a' })], facts()).policyName).toBe('a');
  });
});
