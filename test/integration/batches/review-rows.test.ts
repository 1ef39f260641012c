import { expect, test } from 'vitest';
import { readRows } from '#api/operations/batch-rows.ts';
import { reviewLimits, reviewRows } from '#shared/batches/review-rows.ts';
import { holdCalls } from '../../support/processors/around-calls.ts';
import { newPayment } from '../../support/refunds/payments.ts';
import { useService } from '../../support/use-service.ts';

const service = useService({ workers: 0 });
const review = async (rows: readonly object[], limits: Partial<typeof reviewLimits>) => {
  const owner = { organizationId: service.organization.id, environment: 'test' as const };
  return await reviewRows(service.deps, owner, await readRows(rows), { ...reviewLimits, ...limits });
};

test('of more payments than a review may read, those without an amount are read first', async () => {
  const [exact, remaining] = [await newPayment(service), await newPayment(service)];
  const reviewed = await review(
    [
      { transactionId: exact, amount: 100, reason: 'other' },
      { transactionId: remaining, remaining: true, reason: 'other' },
    ],
    { payments: 1 },
  );
  expect([...reviewed.reviews]).toEqual([[1, { amount: 10_000 }]]);
  expect([...reviewed.unread]).toEqual([0]);
});

test('all that is left of a payment that another row refunds as well is refused', async () => {
  const transactionId = await newPayment(service);
  const { reviews } = await review(
    [
      { transactionId, amount: 100, reason: 'other' },
      { transactionId, remaining: true, reason: 'other' },
    ],
    {},
  );
  expect([...reviews]).toEqual([
    [1, { refusal: expect.stringMatching(/^Refunds all that is left of a payment/) }],
  ]);
});

test('a payment that its processor does not show in time is not read', async () => {
  const { release } = holdCalls(service, 'getPayment');
  const rows = [{ transactionId: await newPayment(service), remaining: true, reason: 'other' }];
  const reviewed = await review(rows, { ms: 1 });
  release();
  expect([...reviewed.reviews, ...reviewed.unread]).toEqual([0]);
});
