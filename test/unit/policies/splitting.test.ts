import { describe, expect, test } from 'vitest';
import { evaluatePolicies, tracePolicies } from '#shared/policies/evaluate.ts';
import { defaultPolicy, type PolicyInput } from '#shared/policies/policy.ts';
import { asked, evaluate, type Given, lastRule, policy, refund } from '../../support/refunds/policies.ts';

describe('splitting a refund', () => {
  const split = (part: bigint, earlier: bigint, outside: bigint) =>
    asked(part, { refunds: [refund(earlier)], transaction: { refundedOutside: outside } });

  test.each([
    [2_000n, 0n, 0n, false],
    [1n, 1_999n, 0n, false],
    [1n, 1_999n, 1n, true],
  ])(
    'of %s after %s here and %s outside requires approval above 20.00: %s',
    (part, earlier, outside, required) => {
      const verdict = evaluate({ approvalAbove: { api: 2_000 } }, split(part, earlier, outside));
      expect(verdict.approvalRequired).toBe(required);
    },
  );

  test.each([
    [2_000n, 0n, 0n, 'Small'],
    [1n, 1_500n, 500n, 'Large'],
    [1n, 1_999n, 0n, 'Small'],
  ])('of %s after %s here and %s outside is matched by the total: %s', (part, earlier, outside, name) => {
    const policies = [
      policy({ name: 'Small', priority: 1, match: { amount: { max: 2_000 } } }),
      policy({ name: 'Large', priority: 2, match: { amount: { min: 2_001 } } }),
    ];
    expect(evaluatePolicies(policies, split(part, earlier, outside)).policyName).toBe(name);
  });

  const ranges = [
    policy({ name: 'Small', priority: 1, match: { amount: { max: 1_000 } }, approvalAbove: { api: 500 } }),
    policy({ name: 'Middle', priority: 2, match: { amount: { min: 1_001, max: 3_000 } } }),
    policy({ name: 'Large', priority: 3, maxPercent: 80, enforce: { api: true } }),
  ];
  test.each([
    [400n, 0n, { maxTaken: 500n }],
    [400n, 200n, { minTaken: 501n, maxTaken: 1_000n }],
    [400n, 3_000n, { minTaken: 3_001n, maxTaken: 8_000n }],
  ])('of %s after %s keeps its verdict within bounds', (part, earlier, limits) => {
    expect(evaluatePolicies(ranges, split(part, earlier, 0n)).limits).toEqual(limits);
  });

  test('without ranges, thresholds and enforced limits leaves nothing to check again', () => {
    expect(evaluatePolicies([defaultPolicy], split(1n, 0n, 0n)).limits).toBeNull();
  });
});

describe('splitting refunds over payments', () => {
  const requested = (part: bigint, earlier: bigint, count = 1, request: Given['request'] = {}) =>
    asked(part, { requesterVelocity: { refundsInLastDay: count, amountInLastDay: earlier }, request });
  const approvalAbovePerRequesterDay = { api: 5_000, mcp: 2_000 };

  test.each<[bigint, bigint, Given['request'], boolean]>([
    [5_000n, 0n, {}, false],
    [2_500n, 2_500n, {}, false],
    [2_500n, 2_501n, {}, true],
    [2_000n, 1n, { initiatedBy: 'mcp' }, true],
    // An agent key has the threshold of agents with the API as well.
    [2_000n, 1n, { hasAgentKey: true }, true],
    // The dashboard has none.
    [9_000n, 9_000n, { initiatedBy: 'dashboard' }, false],
  ])('%s after %s of the same requester, %j, requires approval: %s', (part, earlier, request, required) => {
    const verdict = evaluate({ approvalAbovePerRequesterDay }, requested(part, earlier, 1, request));
    expect(verdict).toMatchObject({ approvalRequired: required, eligible: true });
    expect(verdict.reason.includes('It will require approval.')).toBe(required);
  });

  test.each([
    [{ amount: 5_000 }, 3_000n, 2_000n, true, 3_000n, 'amount: passed'],
    [{ amount: 5_000 }, 3_001n, 2_000n, false, 3_000n, 'amount: denied'],
    [{ amount: 5_000 }, 1n, 5_000n, false, null, 'refunds per requester in 24 hours: denied'],
    [{ count: 2 }, 1n, 1n, true, 10_000n, 'amount: passed'],
    [{ count: 1 }, 1n, 1n, false, null, 'refunds per requester in 24 hours: denied'],
  ])('a limit of %j allows %s after %s: %s', (perRequesterDay, part, earlier, eligible, maxAmount, last) => {
    const rules = { velocity: { perRequesterDay }, enforce: { api: true } };
    const given = requested(part, earlier);
    expect(evaluate(rules, given)).toMatchObject({ eligible, maxAmount, enforced: true });
    expect(lastRule(rules, given)).toBe(last);
  });

  test('explains the limit and the threshold', () => {
    const velocity = { perRequesterDay: { count: 3, amount: 6_000 } };
    const rules = { velocity, approvalAbovePerRequesterDay };
    expect(evaluate(rules, requested(1n, 6_000n, 3))).toMatchObject({
      reason:
        'The policy "Shop" allows 3 refunds and 60.00 USD per requester in 24 hours, and this limit is reached. ' +
        'Try again when earlier refunds are more than 24 hours old.',
      conditions: [
        'Limit per requester in 24 hours: 3 refunds',
        'Limit per requester in 24 hours: 60.00 USD',
        "Approval: required when the requester's refunds in 24 hours exceed 50.00 USD",
      ],
    });
    expect(evaluate(rules, requested(2_000n, 5_000n)).reason).toBe(
      '20.00 USD is more than the 10.00 USD left of the 60.00 USD that the policy "Shop" allows to be refunded ' +
        'per requester in 24 hours. Request at most 10.00 USD.',
    );
    expect(tracePolicies([policy(rules)], requested(1n, 5_000n))).toContain(
      'approval above a total of 50.00 USD per requester in 24 hours: required',
    );
  });

  test.each<[Partial<PolicyInput>, bigint, object | null]>([
    [{ approvalAbovePerRequesterDay }, 4_000n, { requesterDayAmount: 5_000n }],
    // It awaits approval, whatever the others come to.
    [{ approvalAbovePerRequesterDay }, 5_000n, null],
    [{ velocity: { perRequesterDay: { count: 9, amount: 8_000 } } }, 0n, null],
    [
      { velocity: { perRequesterDay: { count: 9, amount: 8_000 } }, enforce: { api: true } },
      0n,
      { requesterDayCount: 9, requesterDayAmount: 8_000n },
    ],
    [
      {
        approvalAbovePerRequesterDay,
        velocity: { perRequesterDay: { amount: 8_000 } },
        enforce: { api: true },
      },
      4_000n,
      { requesterDayAmount: 5_000n },
    ],
    [
      {
        approvalAbovePerRequesterDay,
        velocity: { perRequesterDay: { amount: 8_000 } },
        enforce: { api: true },
      },
      5_000n,
      { requesterDayAmount: 8_000n },
    ],
  ])('%j after %s keeps its verdict within bounds', (rules, earlier, limits) => {
    expect(evaluate(rules, requested(1_000n, earlier)).limits).toEqual(limits);
  });
});
