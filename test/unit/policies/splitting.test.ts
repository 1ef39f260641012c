import { describe, expect, test } from 'vitest';
import { evaluatePolicies } from '../../../shared/policies/evaluate.ts';
import { defaultPolicy } from '../../../shared/policies/policy.ts';
import { asked, evaluate, policy, refund } from '../../support/refunds/policies.ts';

describe('splitting a refund', () => {
  const split = (part: bigint, earlier: bigint, outside: bigint) =>
    asked(part, { refunds: [refund(earlier)], transaction: { refundedOutside: outside } });

  test.each([
    [2_000n, 0n, 0n, false],
    [2_000n, 1n, 0n, true],
    [1n, 1_999n, 0n, false],
    [1n, 1_999n, 1n, true],
    [1n, 0n, 2_000n, true],
  ])(
    'of %s after %s here and %s outside requires approval above 20.00: %s',
    (part, earlier, outside, required) => {
      const verdict = evaluate({ approvalAbove: { api: 2_000 } }, split(part, earlier, outside));
      expect(verdict.approvalRequired).toBe(required);
    },
  );

  test.each([
    [2_000n, 0n, 0n, 'Small'],
    [1n, 2_000n, 0n, 'Large'],
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
    [400n, 601n, { minTaken: 1_001n, maxTaken: 3_000n }],
    [400n, 3_000n, { minTaken: 3_001n, maxTaken: 8_000n }],
  ])('of %s after %s keeps its verdict within bounds', (part, earlier, limits) => {
    expect(evaluatePolicies(ranges, split(part, earlier, 0n)).limits).toEqual(limits);
  });

  test('without ranges, thresholds and enforced limits leaves nothing to check again', () => {
    expect(evaluatePolicies([defaultPolicy], split(1n, 0n, 0n)).limits).toBeNull();
  });
});
