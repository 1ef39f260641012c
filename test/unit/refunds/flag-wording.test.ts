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

test.each<[FlagReason | FindingKind, string]>([
  ['account_unusable', 'The Stripe account cannot be used. Last answer: No answer.'],
  ['outcome_unknown', 'It is unknown whether Stripe has this refund. Last answer: No answer.'],
  ['no_answer', 'Stripe has this refund, but its state cannot be read. Last answer: No answer.'],
  [
    'answer_unreadable',
    'Stripe answers about the payment, but not as documented, so this refund is not sent. Last answer: No answer.',
  ],
  ['amount_differs', 'Stripe shows re_1 with 2501 JPY, but 15.00 USD was requested.'],
  ['missing_there', 'Failed here, but Stripe does not have re_1.'],
  [
    'moved_after_end',
    'Marked failed here, but Stripe shows re_1 as succeeded. The customer may have received 2501 JPY.',
  ],
  ['reversed_there', 'Marked completed here, but Stripe shows re_1 as succeeded.'],
  [
    'extra_refund',
    'Stripe has a second refund for this one: re_1, 2501 JPY, succeeded. The customer may be paid twice.',
  ],
  ['ended_there', 'Processing here, but Stripe shows re_1 as succeeded.'],
  ['found_there', 'Not confirmed here, but Stripe shows re_1 as succeeded.'],
  [
    'made_elsewhere',
    'Stripe has refund re_1 of 2501 JPY (succeeded), which was not made here. 900 JPY can still be refunded.',
  ],
])('renders %s from its facts, without commands', (code, summary) => {
  const words = wordsFor(code, facts, 'Stripe');
  expect(words.summary).toBe(summary);
  expect(`${words.title} ${words.advice}`).not.toMatch(/npm|--|undefined/);
});

test('renders what it can when facts are missing or the code is unknown', () => {
  expect(wordsFor('amount_differs', { externalRefundId: 're_1' }, 'Stripe').summary).toContain(
    'an unknown amount',
  );
  expect(wordsFor('from_the_future' as FlagReason, {}, 'Stripe').summary).toBe('from_the_future');
});
