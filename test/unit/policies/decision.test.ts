import { expect, test } from 'vitest';
import { approvalReasons, denialReason, detailOfDecision, readDecision } from '#shared/policies/decision.ts';
import { evaluateRefund } from '#shared/policies/evaluate-refund.ts';
import type { PolicyInput } from '#shared/policies/policy.ts';
import { facts, type Given, policy, refund } from '../../support/refunds/policies.ts';

/** The decision on a refund of 50.00 USD after one of 20.00 USD, as it is stored and read again. */
function stored(rules: Partial<PolicyInput>, given: Given = {}, approvalAbove?: bigint) {
  const asked = facts({ request: { amount: 5_000n }, refunds: [refund(2_000n)], ...given });
  const agentLimits = approvalAbove === undefined ? null : { currency: 'usd', approvalAbove };
  const verdict = evaluateRefund(
    { policies: [policy(rules)], agentLimits },
    { ...asked, keyAmountInLastDay: 0n },
  );
  return readDecision(JSON.parse(JSON.stringify(detailOfDecision(verdict))));
}

test('says which threshold of which policy or key required approval, and what the refunds come to', () => {
  const asked = stored({ approvalAbove: { api: 6_999 } }, {}, 1_000n);
  expect(approvalReasons(asked, 'usd')).toEqual([
    'The policy “Shop” requires approval when the refunds of a payment come to more than 69.99 USD. With this one they come to 70.00 USD.',
    'The API key requires approval when the refunds of a payment come to more than 10.00 USD. With this one they come to 70.00 USD.',
  ]);
  const requesterVelocity = { refundsInLastDay: 1, amountInLastDay: 90_000n };
  const ofRequester = stored({ approvalAbovePerRequesterDay: { api: 94_999 } }, { requesterVelocity });
  expect(approvalReasons(ofRequester, 'usd')).toEqual([
    'The policy “Shop” requires approval when the refunds of a requester in 24 hours come to more than 949.99 USD. With this one they come to 950.00 USD.',
  ]);
  expect(approvalReasons(stored({ approvalAbove: { api: 0 } }), 'usd')).toEqual([
    'The policy “Shop” requires approval for every refund.',
  ]);
  expect(approvalReasons(stored({ approvalAbove: { api: 7_000 } }), 'usd')).toEqual([]);
});

test.each<[rules: Partial<PolicyInput>, given: Given, because: string | null]>([
  [{}, { refunds: [refund(10_000n)] }, 'the payment is fully refunded'],
  [{ finalSale: true }, {}, 'it is a final sale'],
  [{ windowDays: 1 }, { now: new Date('2026-02-01') }, 'the refund window has closed'],
  [{ velocity: { perTransaction: 1 } }, {}, 'the payment has as many refunds as it allows'],
  [
    { velocity: { perDay: { count: 1 } } },
    { velocity: { refundsInLastDay: 1, amountInLastDay: 0n } },
    'the limit of refunds in 24 hours is reached',
  ],
  [
    { velocity: { perRequesterDay: { count: 1 } } },
    { requesterVelocity: { refundsInLastDay: 1, amountInLastDay: 0n } },
    'the limit of refunds per requester in 24 hours is reached',
  ],
  [{ maxPercent: 69 }, {}, 'it is more than the policy leaves of the payment'],
  [{ maxPercent: 70 }, {}, null],
])('says which rule of %j denied a refund', (rules, given, because) => {
  expect(denialReason(stored(rules, given))).toBe(
    because === null ? null : `The policy “Shop” denies this refund, because ${because}.`,
  );
});

test('knows nothing of refunds from before decisions were kept', () => {
  for (const detail of [{}, null, undefined, { policy: 5 }]) expect(readDecision(detail)).toEqual({});
});
