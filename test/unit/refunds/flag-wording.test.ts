import { expect, test } from 'vitest';
import { wordsFor } from '#shared/refunds/model/flag-wording.ts';
import type { Facts, FindingKind, FlagReason } from '#shared/refunds/model/flags.ts';

const facts: Facts = {
  status: 'failed',
  expectedAmount: 1_500,
  expectedCurrency: 'usd',
  externalRefundId: 're_1',
  processorStatus: 'succeeded',
  amount: 2_501,
  currency: 'jpy',
  message: 'No answer.',
  remaining: 900,
};

const codes: (FlagReason | FindingKind)[] = [
  ...(['account_unusable', 'outcome_unknown', 'no_answer', 'answer_unreadable', 'amount_differs'] as const),
  ...(['missing_there', 'moved_after_end', 'reversed_there', 'extra_refund', 'ended_there'] as const),
  ...(['unsettled', 'found_there', 'not_on_record', 'made_elsewhere'] as const),
];

test.each(codes)('renders %s from its facts, without commands', (code) => {
  const { title, summary, advice } = wordsFor(code, facts, 'stripe');
  expect(summary).toMatch(/Stripe.* (re_1|No answer\.)/);
  expect(`${title} ${summary} ${advice}`).not.toMatch(/npm|--|undefined/);
});

test('renders amounts in their currencies', () => {
  expect(wordsFor('amount_differs', facts, 'stripe').summary).toBe(
    'Stripe shows re_1 with 2501 JPY, but 15.00 USD was requested.',
  );
  expect(wordsFor('made_elsewhere', facts, 'stripe').summary).toContain('900 JPY can still be refunded.');
});

test('renders what it can when facts are missing or the code is unknown', () => {
  expect(wordsFor('amount_differs', { externalRefundId: 're_1' }, 'stripe').summary).toContain(
    'an unknown amount',
  );
  expect(wordsFor('from_the_future' as FlagReason, {}, 'stripe').summary).toBe('from_the_future');
});

test('a status of the processor is shown in words', () => {
  const facts = { externalRefundId: 're_1', processorStatus: 'requires_action' };
  expect(wordsFor('found_there', facts, 'stripe').summary).toContain(
    "re_1 as waiting for the customer's bank details.",
  );
});
