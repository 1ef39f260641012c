import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { Bounds } from '#shared/policies/bounds.ts';
import { evaluatePolicies, tracePolicies } from '#shared/policies/evaluate.ts';
import { evaluateRefund, type RefundFacts, type Verdict } from '#shared/policies/evaluate-refund.ts';
import {
  type Policy,
  type PolicyFacts,
  type PolicyInput,
  policySchema,
  type Velocity,
} from '#shared/policies/policy.ts';
import { charged, later, type Status, summaryOf } from '../../support/refunds/policies.ts';

const cents = fc.bigInt({ min: 1n, max: 300n });
const fewCents = fc.integer({ min: 1, max: 300 });
const initiators = fc.constantFrom('api', 'dashboard', 'mcp');

/** Policies that often match, with amounts so small that each limit is often the lowest. */
const anyPolicies: fc.Arbitrary<Policy[]> = fc.uniqueArray(
  fc
    .record(
      {
        name: fc.string({ minLength: 1, maxLength: 3, unit: fc.constantFrom('a', 'B', 'é') }),
        priority: fc.integer({ min: 0, max: 3 }),
        match: fc.constantFrom<PolicyInput['match']>(
          {},
          { processors: ['stripe'] },
          { amount: { max: 100 } },
          { amount: { min: 80, max: 200 } },
        ),
        windowDays: fc.option(fc.integer({ min: 1, max: 60 })),
        maxPercent: fc.option(fc.integer({ min: 1, max: 100 })),
        maxAmount: fc.option(fc.record({ amount: fewCents, currency: fc.constantFrom('usd', 'eur') })),
        finalSale: fc.integer({ min: 0, max: 9 }).map((n) => n === 0),
        approvalAbove: fc.record({ mcp: fewCents, api: fewCents }, { requiredKeys: ['mcp'] }),
        approvalAbovePerRequesterDay: fc.constantFrom({}, { api: 100 }, { mcp: 200 }),
        velocity: fc.constantFrom(
          {},
          { perTransaction: 2 },
          { perDay: { amount: 250 } },
          { perRequesterDay: { amount: 150, count: 3 } },
        ),
      },
      { requiredKeys: ['name', 'priority'] },
    )
    .map((rules) => policySchema.parse(rules)),
  { selector: ({ name }) => name, maxLength: 4 },
);

const anyRefunds = fc.array(
  fc.record({
    amount: fc.bigInt({ min: 1n, max: 60n }),
    status: fc.constantFrom<Status[]>('pending', 'processing', 'completed', 'failed', 'cancelled'),
    createdAt: fc.constant(charged),
  }),
  { maxLength: 4 },
);

const anyVelocity = fc.record({
  refundsInLastDay: fc.nat(3),
  amountInLastDay: fc.bigInt({ min: 0n, max: 300n }),
});

const anyFacts: fc.Arbitrary<PolicyFacts> = fc.record({
  transaction: fc.record({
    amount: cents,
    currency: fc.constantFrom('usd', 'jpy'),
    chargedAt: fc.constant(charged),
    processor: fc.constantFrom('stripe', 'braintree'),
    refundedOutside: fc.bigInt({ min: 0n, max: 20n }),
  }),
  refunds: anyRefunds.map(summaryOf),
  velocity: anyVelocity,
  requesterVelocity: anyVelocity,
  request: fc.record({
    amount: fc.option(cents),
    reason: fc.constant(null),
    metadata: fc.constant(null),
    initiatedBy: initiators,
  }),
  now: fc.integer({ min: 0, max: 70 }).map((days) => later(charged, days * 86_400_000)),
});

/** What changes while other refunds are created, fail or are cancelled. */
const totals = {
  refunds: anyRefunds.map(summaryOf),
  velocity: anyVelocity,
  requesterVelocity: anyVelocity,
  keyAmountInLastDay: fc.bigInt({ min: 0n, max: 300n }),
};
const anyTotals = fc.record(totals);

const anyKeyLimits = fc.option(
  fc.record(
    { currency: fc.constant('usd'), maxPerPayment: cents, maxPerDay: cents, approvalAbove: cents },
    { requiredKeys: ['currency'] },
  ),
);

const anyRefundFacts = fc
  .tuple(anyFacts, anyTotals)
  .map(([facts, some]): RefundFacts => ({ ...facts, ...some }));

describe('for any policies and facts, a verdict', () => {
  test('stays within what remains and its deadline, binds agents, and agrees with its trace', () => {
    fc.assert(
      fc.property(anyPolicies, anyFacts, anyRefunds, (policies, facts, refunds) => {
        const given = { ...facts, refunds: summaryOf(refunds) };
        const { transaction, request, now } = given;
        const live = refunds.filter(({ status }) => !['failed', 'cancelled'].includes(status));
        const left = live.reduce(
          (sum, { amount }) => sum - amount,
          transaction.amount - transaction.refundedOutside,
        );
        const { eligible, enforced, reason, maxAmount, deadline } = evaluatePolicies(policies, given);
        expect(maxAmount ?? 0n).toBeGreaterThanOrEqual(0n);
        expect(maxAmount ?? 0n).toBeLessThanOrEqual(left > 0n ? left : 0n);
        if (eligible) {
          expect(maxAmount).toBeGreaterThan(0n);
          expect(maxAmount).toBeGreaterThanOrEqual(request.amount ?? 0n);
          expect((deadline ?? now).getTime()).toBeGreaterThanOrEqual(now.getTime());
        }
        if (request.initiatedBy === 'mcp') expect(enforced).toBe(true);
        expect(reason).toMatch(/\.$/);
        expect(tracePolicies(policies, given).at(-1)).toMatch(eligible ? /: passed$/ : /: denied$/);
      }),
    );
  });

  test('names a maximum amount that the same policy allows', () => {
    fc.assert(
      fc.property(anyPolicies, anyFacts, (policies, given) => {
        const first = evaluatePolicies(policies, given);
        fc.pre(!first.eligible && first.maxAmount !== null && first.maxAmount > 0n);
        const again = { ...given, request: { ...given.request, amount: first.maxAmount } };
        const second = evaluatePolicies(policies, again);
        if (second.policyName === first.policyName) expect(second.eligible).toBe(true);
      }),
    );
  });

  test('does not depend on the order of the policies', () => {
    const permuted = anyPolicies.chain((policies) =>
      fc.tuple(
        fc.constant(policies),
        fc.shuffledSubarray(policies, { minLength: policies.length, maxLength: policies.length }),
      ),
    );
    fc.assert(
      fc.property(permuted, anyFacts, ([policies, shuffled], given) => {
        expect(evaluatePolicies(shuffled, given)).toEqual(evaluatePolicies(policies, given));
      }),
    );
  });

  test('is the same for every total within the bounds that it is recorded with', () => {
    const anyOthers = fc.array(anyTotals, { minLength: 20, maxLength: 20 });
    fc.assert(
      fc.property(
        anyPolicies,
        anyKeyLimits,
        anyRefundFacts,
        anyOthers,
        (policies, agentLimits, given, others) => {
          const rules = { policies, agentLimits };
          const decided = evaluateRefund(rules, given);
          const { amount } = given.request;
          // Only a refund that is not refused is recorded.
          if (amount === null || decided.refusal !== null) return;
          for (const totals of others.filter((each) => mayBeRecorded(decided, given, amount, each))) {
            const again = evaluateRefund(rules, { ...given, ...totals });
            expect(again).toMatchObject({ refusal: null, policyName: decided.policyName });
            // A refund that exceeds the threshold of its requester awaits approval, whatever the others come to.
            if (decided.exceeded.some(({ of }) => of === 'requester')) continue;
            expect(again.approvalRequired).toBe(decided.approvalRequired);
          }
        },
      ),
      { numRuns: 300 },
    );
  });
});

/** What a creation compares when it records a refund. */
function mayBeRecorded(
  { bounds }: Verdict,
  { transaction }: RefundFacts,
  amount: bigint,
  { refunds, velocity, requesterVelocity, keyAmountInLastDay }: Pick<RefundFacts, keyof typeof totals>,
): boolean {
  const taken = refunds.amount + transaction.refundedOutside;
  const { payment, organization, requester, apiKey } = bounds ?? {};
  const isWithinDay = (range: Range | undefined, { refundsInLastDay, amountInLastDay }: Velocity) =>
    isWithin(range, refundsInLastDay + 1, amountInLastDay + amount);
  return (
    taken + amount <= transaction.amount &&
    isWithin(payment, refunds.count + 1, taken + amount) &&
    isWithinDay(organization, velocity) &&
    isWithinDay(requester, requesterVelocity) &&
    isWithin(apiKey, 1, keyAmountInLastDay + amount)
  );
}

type Range = NonNullable<Bounds['payment']>;

function isWithin(
  { minAmount = 0n, maxAmount = 10_000n, maxCount = 10_000 }: Range = {},
  count: number,
  amount: bigint,
) {
  return count <= maxCount && amount >= minAmount && amount <= maxAmount;
}
