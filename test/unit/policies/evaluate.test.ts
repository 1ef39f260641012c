import { describe, expect, test } from 'vitest';
import {
  bindsRequester,
  evaluatePolicies,
  ineligible,
  tracePolicies,
  unknownTransaction,
} from '#shared/policies/evaluate.ts';
import { defaultPolicy, type Policy, type PolicyInput, type PolicyVerdict } from '#shared/policies/policy.ts';
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
} from '../../support/refunds/policies.ts';

/** Asks for a part, after another one here and one outside of the service. */
const split = (amount: bigint, earlier: bigint, refundedOutside = 0n): Given => ({
  ...{ request: { amount }, refunds: [refund(earlier)], transaction: { refundedOutside } },
});

/** Asks for an amount after what the requester has requested in the last day. */
const requested = (amount: bigint, earlier: bigint, request: Given['request'] = {}): Given => ({
  ...{ requesterVelocity: { refundsInLastDay: 1, amountInLastDay: earlier } },
  request: { amount, ...request },
});

const approvalAbovePerRequesterDay = { api: 5_000, mcp: 2_000 };

describe('the verdict', () => {
  test.each([
    ['a millisecond before', -1, true],
    ['exactly at', 0, true],
    ['a millisecond after', 1, false],
  ])('%s the deadline at %d ms is eligible: %s', (_when, ms, eligible) => {
    const verdict = evaluatePolicies([defaultPolicy], facts({ now: later(deadline, ms) }));
    expect(verdict).toMatchObject({
      ...{ eligible, deadline: eligible ? deadline : null, maxAmount: eligible ? 10_000n : null },
      ...{ policyName: 'Default 30-day policy', enforced: false, approvalRequired: false },
      reason: expect.stringMatching(
        eligible
          ? /at most 100.00 USD by 2026-01-31T12:00:00.000Z/
          : /30 days .* closed on 2026-01-31T12:00:00.000Z\. Ask an administrator/,
      ),
    });
  });

  test('names the remaining amount, the deadline and how it is computed when the amount is too large', () => {
    const given = asked(8000n, { refunds: [refund(3000n)], transaction: { refundedOutside: 1000n } });
    expect(evaluatePolicies([defaultPolicy], given)).toMatchObject({
      ...{ eligible: false, maxAmount: 6000n, deadline },
      reason: '80.00 USD is more than the 60.00 USD left of this payment. Request at most 60.00 USD.',
      conditions: [
        'Original amount: 100.00 USD',
        'Previous partial refunds: 40.00 USD ' +
          '(1 refund by this service, the last on 2026-01-01T12:00:00.000Z, 10.00 USD outside this service)',
        'Remaining amount: 60.00 USD',
        'Refund window: 30 days after the charge, open until 2026-01-31T12:00:00.000Z',
      ],
    });
    expect(evaluate({}, asked(10_001n)).conditions).toEqual([
      'Original amount: 100.00 USD',
      'Previous partial refunds: none',
      'Remaining amount: 100.00 USD',
    ]);
  });

  test.each([
    ['inside', deadline, deadline],
    ['outside', later(deadline, 1), null],
  ])('leaves nothing of a fully refunded payment, %s the window', (_where, now, expected) => {
    const given = facts({ now, refunds: [refund(10_000n)] });
    const verdict = evaluatePolicies([defaultPolicy], given);
    expect(verdict).toMatchObject({ eligible: false, maxAmount: 0n, deadline: expected });
    expect(verdict.conditions).toContain('Remaining amount: 0.00 USD');
    expect(lastRule({ windowDays: 30 }, given)).toBe('not fully refunded: denied');
  });

  test('denies a payment that is unknown or that its processor cannot refund', () => {
    const nothing = {
      ...{ eligible: false, maxAmount: null, deadline: null, conditions: [] },
      ...{ policyName: null, approvalRequired: false, holdSeconds: 0 },
      ...{ deniedBy: null, exceeded: [], bounds: null },
    };
    const reason = expect.stringContaining('ch_1 was not found');
    expect(unknownTransaction('ch_1', 'mcp')).toEqual({ ...nothing, enforced: true, reason });
    const failed = { ...nothing, enforced: false, reason: 'The payment failed.' };
    expect(ineligible('The payment failed.', 'api')).toEqual(failed);
  });

  test('allows all that remains, without a deadline, when no policy matches', () => {
    const expected = { eligible: true, maxAmount: 7000n, deadline: null, policyName: null, enforced: false };
    expect(evaluatePolicies([], facts({ refunds: [refund(3000n)] }))).toMatchObject(expected);
    expect(evaluatePolicies([], asked(7001n, { refunds: [refund(3000n)] })).eligible).toBe(false);
  });
});

describe('a policy', () => {
  const duplicate = { reason: 'duplicate_charge' } as const;
  const vip = { metadata: { tier: 'vip', nested: {} } };

  test.each<[matches: boolean, string, PolicyInput['match'], Given]>([
    [true, 'a processor on the list', { processors: ['Stripe'] }, {}],
    [true, 'a currency on the list', { currencies: ['EUR', 'USD'] }, {}],
    [true, 'a reason on the list', { reasons: ['duplicate_charge'] }, { request: duplicate }],
    [true, 'the smallest amount', { amount: { min: 500 } }, { request: { amount: 500n } }],
    [true, 'the largest amount', { amount: { max: 500 } }, { request: { amount: 500n } }],
    [true, 'a request without an amount', { amount: { min: 500, max: 500 } }, {}],
    [true, 'a request with all its metadata', { metadata: { tier: 'vip' } }, { request: vip }],
    [false, 'a processor not on the list', { processors: ['braintree'] }, {}],
    [false, 'a currency not on the list', { currencies: ['eur'] }, {}],
    [false, 'a reason not on the list', { reasons: ['other'] }, { request: duplicate }],
    [false, 'a request without a reason', { reasons: ['other'] }, {}],
    [false, 'less than the smallest amount', { amount: { min: 500 } }, { request: { amount: 499n } }],
    [false, 'more than the largest amount', { amount: { max: 500 } }, { request: { amount: 501n } }],
    [false, 'another metadata value', { metadata: { tier: 'basic' } }, { request: vip }],
    [
      false,
      'a metadata value of another type',
      { metadata: { n: 1 } },
      { request: { metadata: { n: '1' } } },
    ],
    [false, 'a request that lacks one key of two', { metadata: { tier: 'vip', n: 1 } }, { request: vip }],
    [false, 'a key that is only inherited', { metadata: { toString: 'x' } }, { request: { metadata: {} } }],
    [false, 'a request without metadata', { metadata: { tier: 'vip' } }, {}],
    // What was refunded here and elsewhere counts, so that splitting a refund gains nothing.
    [true, 'the largest amount in total', { amount: { max: 500 } }, split(1n, 300n, 199n)],
    [false, 'more than the largest amount in total', { amount: { max: 500 } }, split(1n, 300n, 200n)],
    [true, 'the smallest amount in total', { amount: { min: 500 } }, split(1n, 300n, 199n)],
  ])('matches (%s) %s', (matches, _what, match, given) => {
    expect(evaluate({ match }, facts(given)).policyName).toBe(matches ? 'Shop' : null);
  });

  test('with the lowest priority decides, and the trace lists the steps up to the decision', () => {
    const policies = [
      policy({ name: 'Not checked', priority: 30, finalSale: true }),
      policy({ name: 'Decides', priority: 20, windowDays: 30, approvalAbove: { api: 500 } }),
      policy({ name: 'Euros', priority: 10, match: { currencies: ['eur'] } }),
    ];
    expect(evaluatePolicies(policies, facts()).policyName).toBe('Decides');
    const start = [
      'policy "Euros" with priority 10: does not match (currencies)',
      'policy "Decides" with priority 20: matches',
    ];
    expect(tracePolicies(policies, asked(501n))).toEqual([
      ...start,
      'approval above a total of 5.00 USD: required',
      'not fully refunded: passed',
      'refund window: passed',
      'amount: passed',
    ]);
    expect(tracePolicies(policies, asked(500n, { now: later(deadline, 1) }))).toEqual([
      ...start,
      'approval above a total of 5.00 USD: not required',
      'not fully refunded: passed',
      'refund window: denied',
    ]);
  });

  test('with the first name decides between equal priorities', () => {
    expect(evaluatePolicies([policy({ name: 'b' }), policy({ name: 'a' })], facts()).policyName).toBe('a');
  });
});

describe('a limit', () => {
  test.each<[bigint, number, bigint]>([
    [10_000n, 100, 10_000n],
    [3n, 66, 1n],
    [1n, 99, 0n],
    [9_007_199_254_740_993n, 99, 8_917_127_262_193_583n],
  ])('of %s minor units at %i percent is exactly %s', (amount, maxPercent, maximum) => {
    expect(evaluate({ maxPercent }, facts({ transaction: { amount } })).maxAmount).toBe(maximum);
  });

  const refunds = [refund(3000n)];
  const usd = (amount: number) => ({ maxAmount: { amount, currency: 'usd' } });
  test.each<[string, Partial<PolicyInput>, Given, bigint]>([
    ['in percent counts earlier refunds', { maxPercent: 50 }, { refunds }, 2000n],
    [
      'in percent counts refunds outside',
      { maxPercent: 50 },
      { transaction: { refundedOutside: 4999n } },
      1n,
    ],
    ['in money counts earlier refunds', usd(4000), { refunds }, 1000n],
    ['in another currency is ignored', { maxAmount: { amount: 1, currency: 'eur' } }, {}, 10_000n],
    ['applies when it is the lower of two', { maxPercent: 30, ...usd(2000) }, {}, 2000n],
    ['never exceeds what remains', usd(99_999), {}, 10_000n],
  ])('%s', (_promise, rules, given, maximum) => {
    expect(evaluate(rules, facts(given))).toMatchObject({ eligible: true, maxAmount: maximum });
    expect(evaluate(rules, asked(maximum, given))).toMatchObject({ eligible: true, maxAmount: maximum });
    const tooMuch = asked(maximum + 1n, given);
    const verdict = evaluate(rules, tooMuch);
    expect(verdict).toMatchObject({ eligible: false, maxAmount: maximum });
    expect(verdict.conditions).toContainEqual(expect.stringMatching(/^Remaining amount: /));
    expect(lastRule(rules, tooMuch)).toBe('amount: denied');
  });

  test('that is used up leaves nothing of a payment with money left', () => {
    const verdict = evaluate({ maxPercent: 30 }, facts({ refunds }));
    expect(verdict).toMatchObject({ eligible: false, maxAmount: 0n });
    expect(verdict.reason).toMatch(/^Nothing is left of the 30% of this payment that the policy "Shop"/);
    expect(verdict.conditions).toContain('Remaining amount: 70.00 USD');
  });

  test('on the number of refunds per payment ignores failed and cancelled ones', () => {
    const rules = { velocity: { perTransaction: 2 }, windowDays: 30 };
    const given = [refund(1n), refund(1n, 'failed'), refund(1n, 'cancelled')];
    expect(evaluate(rules, facts({ refunds: given })).eligible).toBe(true);
    const verdict = evaluate(rules, facts({ refunds: [...given, refund(1n, 'pending')] }));
    expect(verdict).toMatchObject({ eligible: false, maxAmount: null, deadline: null });
  });

  describe.each([
    ['perDay', 'velocity', ''],
    ['perRequesterDay', 'requesterVelocity', ' per requester'],
  ] as const)('%s', (kind, fact, scope) => {
    const rules = { velocity: { [kind]: { count: 5, amount: 500 } }, windowDays: 30 };
    const lately = (refundsInLastDay: number, amountInLastDay: bigint) => ({
      [fact]: { refundsInLastDay, amountInLastDay },
    });

    test.each([
      [4, 499n, null],
      [5, 0n, 'allows 5 refunds'],
      [0, 500n, 'allows 5.00 USD'],
      [6, 501n, 'allows 5 refunds and 5.00 USD'],
    ])('after %i refunds of %s minor units denies: %s', (count, amount, allowed) => {
      const given = facts(lately(count, amount));
      const verdict = evaluate(rules, given);
      const maxAmount = allowed === null ? 1n : null;
      expect(verdict).toMatchObject({ eligible: allowed === null, maxAmount, deadline });
      if (allowed === null) return;
      const rest = 'in 24 hours, and this limit is reached. Try again when earlier refunds are more than 24';
      expect(verdict.reason).toContain(`${allowed}${scope} ${rest} hours old.`);
      expect(lastRule(rules, given)).toBe(`refunds${scope} in 24 hours: denied`);
    });

    test('leaves its rest, and names it', () => {
      expect(evaluate(rules, asked(100n, lately(4, 400n))).eligible).toBe(true);
      const tooMuch = asked(101n, lately(4, 400n));
      const verdict = evaluate(rules, tooMuch);
      expect(verdict).toMatchObject({ eligible: false, maxAmount: 100n });
      expect(verdict.reason).toMatch(
        new RegExp(
          `^1.01 USD is more than the 1.00 USD left of the 5.00 USD that .*${scope} in 24 hours. Request at most 1.00 USD`,
        ),
      );
      expect(verdict.conditions).toEqual(
        expect.arrayContaining([
          `Limit${scope} in 24 hours: 5 refunds`,
          `Limit${scope} in 24 hours: 5.00 USD`,
        ]),
      );
      expect(lastRule(rules, tooMuch)).toBe('amount: denied');
    });
  });

  test('of final sale denies whatever the window and the amount', () => {
    const verdict = evaluate({ finalSale: true, windowDays: 30 }, asked(1n));
    expect(verdict).toMatchObject({ eligible: false, maxAmount: null, deadline: null });
    expect(verdict.conditions).toEqual(['Final sale: no refunds']);
  });
});

describe('approval and enforcement', () => {
  const approvalAbove = { api: 500, dashboard: null, mcp: 200 };
  const byAgentKey = { hasAgentKey: true };
  test.each<[required: boolean, Partial<PolicyInput>, Given]>([
    [false, { approvalAbove }, { request: { amount: 500n } }],
    [true, { approvalAbove }, { request: { amount: 501n } }],
    [false, { approvalAbove }, {}],
    [true, { approvalAbove: { mcp: 0 } }, { request: { initiatedBy: 'mcp' } }],
    [false, { approvalAbove }, { request: { initiatedBy: 'dashboard', amount: 10_000n } }],
    [true, { approvalAbove }, { request: { initiatedBy: 'mcp', amount: 201n } }],
    // An agent key has the threshold of agents wherever it is used.
    [false, { approvalAbove }, { request: { ...byAgentKey, amount: 200n } }],
    [true, { approvalAbove }, { request: { ...byAgentKey, amount: 201n } }],
    [true, { approvalAbove }, { request: { ...byAgentKey, initiatedBy: 'dashboard', amount: 201n } }],
    [false, { approvalAbove }, split(1n, 300n, 199n)],
    [true, { approvalAbove }, split(1n, 300n, 200n)],
    [false, { approvalAbovePerRequesterDay }, requested(2_500n, 2_500n)],
    [true, { approvalAbovePerRequesterDay }, requested(2_500n, 2_501n)],
    [true, { approvalAbovePerRequesterDay }, requested(2_000n, 1n, { initiatedBy: 'mcp' })],
    [true, { approvalAbovePerRequesterDay }, requested(2_000n, 1n, byAgentKey)],
    [false, { approvalAbovePerRequesterDay }, requested(5_000n, 5_000n, { initiatedBy: 'dashboard' })],
  ])('is required: %s, by %j for %o', (required, rules, given) => {
    const verdict = evaluate(rules, facts(given));
    expect(verdict).toMatchObject({ eligible: true, approvalRequired: required });
    expect(verdict.reason.includes('It will require approval.')).toBe(required);
  });

  test('is explained with the threshold per requester', () => {
    const given = facts(requested(1n, 5_000n));
    expect(evaluate({ approvalAbovePerRequesterDay }, given).conditions).toContain(
      "Approval: required when the requester's refunds in 24 hours exceed 50.00 USD",
    );
    expect(tracePolicies([policy({ approvalAbovePerRequesterDay })], given)).toContain(
      'approval above a total of 50.00 USD per requester in 24 hours: required',
    );
  });

  test('requires approval also with an advisory denial', () => {
    const verdict = evaluate({ approvalAbove, finalSale: true }, asked(501n));
    expect(verdict).toMatchObject({ eligible: false, enforced: false, approvalRequired: true });
  });

  test.each([
    ['api', {}, false],
    ['api', { api: true }, true],
    ['dashboard', { api: true }, false],
    ['dashboard', { dashboard: true }, true],
    ['mcp', {}, true],
  ] as const)('from %s with %j is enforced: %s', (initiatedBy, enforce, enforced) => {
    expect(evaluate({ enforce }, facts({ request: { initiatedBy } })).enforced).toBe(enforced);
    // Such a policy also needs the payment to be known.
    expect(bindsRequester(policy({ enforce }), { initiatedBy })).toBe(enforced);
  });

  test('a policy binds those for whom it can require approval', () => {
    const thresholds = { api: 0, dashboard: null };
    for (const field of ['approvalAbove', 'approvalAbovePerRequesterDay']) {
      const rules = policy({ [field]: thresholds });
      expect(bindsRequester(rules, { initiatedBy: 'api' })).toBe(true);
      expect(bindsRequester(rules, { initiatedBy: 'dashboard' })).toBe(false);
    }
  });

  test.each([
    ['api', false, 30],
    ['api', true, 60],
    ['mcp', true, 60],
    ['dashboard', false, 0],
  ] as const)(
    'from %s with an agent key (%s) is held for %i seconds',
    (initiatedBy, hasAgentKey, seconds) => {
      const verdict = evaluate(
        { holdSeconds: { api: 30, mcp: 60 } },
        facts({ request: { initiatedBy, hasAgentKey } }),
      );
      expect(verdict.holdSeconds).toBe(seconds);
      const minute = 'Hold: sent 1 minute after it is created or approved, and can be cancelled until then';
      expect(verdict.conditions.includes(minute)).toBe(seconds === 60);
    },
  );

  test('is enforced for every key with agent limits', () => {
    const given = facts({ request: { initiatedBy: 'api', hasAgentKey: true } });
    expect(evaluate({ enforce: { api: false } }, given).enforced).toBe(true);
    expect(bindsRequester(policy(), given.request)).toBe(true);
    expect(evaluatePolicies([], given).enforced).toBe(true);
  });
});

describe('the bounds within which a verdict stays as it is', () => {
  const ranges = [
    policy({ name: 'Small', priority: 1, match: { amount: { max: 1_000 } }, approvalAbove: { api: 500 } }),
    policy({ name: 'Middle', priority: 2, match: { amount: { min: 1_001, max: 3_000 } } }),
    policy({ name: 'Large', priority: 3, maxPercent: 80, enforce: { api: true } }),
  ];
  const enforce = { api: true };
  const limited = (amount: number, count?: number) => ({ velocity: { perRequesterDay: { amount, count } } });

  test.each<[Policy[], Given, PolicyVerdict['bounds']]>([
    [ranges, split(400n, 0n), { payment: { maxAmount: 500n } }],
    [ranges, split(400n, 200n), { payment: { minAmount: 501n, maxAmount: 1_000n } }],
    [ranges, split(400n, 3_000n), { payment: { minAmount: 3_001n, maxAmount: 8_000n } }],
    [[defaultPolicy], split(1n, 0n), null],
    [
      [policy({ approvalAbovePerRequesterDay })],
      requested(1_000n, 4_000n),
      { requester: { maxAmount: 5_000n } },
    ],
    // It awaits approval, whatever the others come to.
    [[policy({ approvalAbovePerRequesterDay })], requested(1_000n, 5_000n), null],
    [[policy(limited(8_000, 9))], requested(1_000n, 0n), null],
    [
      [policy({ ...limited(8_000, 9), enforce })],
      requested(1_000n, 0n),
      { requester: { maxCount: 9, maxAmount: 8_000n } },
    ],
    [
      [policy({ ...limited(8_000), approvalAbovePerRequesterDay, enforce })],
      requested(1_000n, 4_000n),
      { requester: { maxAmount: 5_000n } },
    ],
    [
      [policy({ ...limited(8_000), approvalAbovePerRequesterDay, enforce })],
      requested(1_000n, 5_000n),
      { requester: { maxAmount: 8_000n } },
    ],
  ])('of %o for %o are %o', (policies, given, bounds) => {
    expect(evaluatePolicies(policies, facts(given)).bounds).toEqual(bounds);
  });
});
