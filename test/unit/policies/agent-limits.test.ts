import { describe, expect, test } from 'vitest';
import {
  type AgentFacts,
  type AgentLimits,
  type AgentVerdict,
  agentConditions,
  agentLimitsSchema,
  evaluateAgentLimits,
  readAgentLimits,
} from '#shared/policies/agent-limits.ts';

type Given = Partial<AgentFacts>;
type Expected = Partial<AgentVerdict>;

/** A refund of 10.00 USD of a payment with 100.00 USD left. */
const facts = (given: Given = {}): AgentFacts => ({
  ...{ amount: 1_000n, reason: 'other', currency: 'usd', taken: 0n, takenInLastDay: 0n, available: 10_000n },
  ...given,
});

const evaluate = (limits: Omit<AgentLimits, 'currency'>, given: Given) =>
  evaluateAgentLimits({ currency: 'usd', ...limits }, facts(given));

describe('the limits of an agent key', () => {
  test.each<[string, Omit<AgentLimits, 'currency'>, Given, Expected]>([
    ['that limit nothing', {}, {}, { denial: null, left: 10_000n }],
    ['per refund, reached', { maxPerRefund: 1_000n }, {}, { denial: null, left: 1_000n }],
    [
      'per refund, exceeded',
      { maxPerRefund: 1_000n },
      { amount: 1_001n },
      { denial: 'This key may refund at most 10.00 USD per refund.', left: 1_000n },
    ],
    ['per refund, whatever was refunded', { maxPerRefund: 1_000n }, { taken: 5_000n }, { denial: null }],
    ['per payment, reached', { maxPerPayment: 5_000n }, { taken: 4_000n }, { denial: null, left: 1_000n }],
    [
      'per payment, exceeded',
      { maxPerPayment: 5_000n },
      { taken: 3_800n, amount: 1_201n },
      { denial: 'This key may refund at most 50.00 USD of a payment; 12.00 USD are left.', left: 1_200n },
    ],
    [
      'per payment, used up by others',
      { maxPerPayment: 5_000n },
      { taken: 6_000n, amount: 1n },
      { denial: 'This key may refund at most 50.00 USD of a payment; nothing is left.', left: 0n },
    ],
    ['per day, reached', { maxPerDay: 2_000n }, { takenInLastDay: 1_000n }, { denial: null, left: 1_000n }],
    [
      'per day, exceeded',
      { maxPerDay: 2_000n },
      { takenInLastDay: 1_001n },
      { denial: 'This key may refund at most 20.00 USD in 24 hours; 9.99 USD are left.', left: 999n },
    ],
    [
      'of which the one that leaves the least is named',
      { maxPerRefund: 3_000n, maxPerPayment: 5_000n, maxPerDay: 4_000n },
      { amount: 4_000n, taken: 3_500n, takenInLastDay: 2_000n },
      { denial: 'This key may refund at most 50.00 USD of a payment; 15.00 USD are left.', left: 1_500n },
    ],
    [
      'exceeded, when the payment leaves even less',
      { maxPerPayment: 5_000n },
      { amount: 6_000n, available: 700n },
      { denial: 'This key may refund at most 50.00 USD of a payment; 7.00 USD are left.', left: 700n },
    ],
    [
      'not exceeded, when the payment leaves less',
      { maxPerPayment: 5_000n },
      { available: 700n },
      { denial: null, left: 700n },
    ],
    ['used up, without an amount', { maxPerDay: 5n }, { amount: null, takenInLastDay: 5n }, { left: 0n }],
    ['not used up, without an amount', { maxPerDay: 5n }, { amount: null }, { denial: null, left: 5n }],
    ['with the reason', { reasons: ['other'] }, {}, { denial: null }],
    ['before the reason is known', { reasons: ['wrong_product'] }, { reason: null }, { denial: null }],
    [
      'without the reason',
      { reasons: ['wrong_product', 'duplicate_charge'], maxPerRefund: 1n },
      {},
      { denial: 'This key may refund for these reasons only: wrong_product, duplicate_charge.', left: 1n },
    ],
    [
      'in another currency',
      { maxPerRefund: 9_999n },
      { currency: 'eur' },
      { denial: 'This key may refund payments in USD only.', left: 0n },
    ],
  ])('%s', (_what, limits, given, expected) => {
    expect(evaluate(limits, given)).toMatchObject(expected);
  });

  test.each([
    [2_000n, 1_000n, false, { payment: { maxAmount: 2_000n } }],
    [2_000n, 1_001n, true, { payment: { minAmount: 2_001n } }],
    [0n, 0n, true, { payment: { minAmount: 1n } }],
    [undefined, 0n, false, null],
  ])('require approval above %s when %s is taken: %s', (approvalAbove, taken, approvalRequired, bounds) => {
    const limits = approvalAbove === undefined ? {} : { approvalAbove };
    expect(evaluate(limits, { taken })).toMatchObject({ denial: null, approvalRequired, bounds });
  });

  test('hold up to the lower of the threshold and the limit per payment, and up to the limit of a day', () => {
    const limits = { maxPerPayment: 5_000n, approvalAbove: 2_000n, maxPerDay: 9_000n };
    const apiKey = { maxAmount: 9_000n };
    expect(evaluate(limits, { taken: 0n }).bounds).toEqual({ payment: { maxAmount: 2_000n }, apiKey });
    expect(evaluate(limits, { taken: 2_000n }).bounds).toEqual({
      payment: { minAmount: 2_001n, maxAmount: 5_000n },
      apiKey,
    });
  });

  test('are listed for people', () => {
    const limits = agentLimitsSchema.parse({
      ...{
        currency: 'usd',
        maxPerRefund: 1_000,
        maxPerPayment: 5_000,
        maxPerDay: 20_000,
        reasons: ['other'],
      },
      approvalAbove: 2_000,
    });
    expect(agentConditions(limits)).toEqual([
      'Limit of this key per refund: 10.00 USD',
      'Limit of this key per payment: 50.00 USD',
      'Limit of this key in 24 hours: 200.00 USD',
      'Reasons that this key may give: other',
      "Approval: with this key, required when this payment's refunds exceed 20.00 USD",
    ]);
  });

  test('are read from their row; invalid ones are never ignored', () => {
    expect(readAgentLimits(null)).toBeNull();
    expect(readAgentLimits({ currency: 'usd', maxPerDay: 5 })).toEqual({ currency: 'usd', maxPerDay: 5n });
    for (const invalid of [
      {},
      { currency: 'usd', maxPerHour: 5 },
      'none',
      { currency: 'usd', maxPerDay: '5' },
    ]) {
      expect(() => readAgentLimits(invalid)).toThrow();
    }
  });
});
