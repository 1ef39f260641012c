import { describe, expect, test } from 'vitest';
import { listRefunds } from '#shared/processors/braintree/list-refunds.ts';
import { listAll, windowAroundNow } from '../../support/processors/describe/listing.ts';
import { braintreeVariants, useProcessor } from '../../support/processors/processor-variants.ts';
import { submissionFor } from '../../support/refunds/refund-records.ts';

const options = { timeoutMs: 5_000 };

const [braintree] = braintreeVariants;

describe('what only Braintree lists', () => {
  if (braintree === undefined) throw new Error('There is no variant of Braintree.');
  const { control, processor, payment } = useProcessor(braintree);

  test('lists a voided sale by the time of the void', async () => {
    const id = await payment({ status: 'submitted_for_settlement', createdAt: '2026-01-01T00:00:00Z' });
    await processor.createRefund(submissionFor(id, { amount: 5_000n }), options);
    const { refunds } = await listAll(processor, windowAroundNow(5));
    expect(refunds).toMatchObject([
      { id, amount: 5_000n, state: 'completed', refundId: null, transactionIds: [id] },
    ]);
    expect(await control.refunds({ processor: 'braintree', transactionId: id })).toHaveLength(1);
  });

  test('splits a search that may have been cut off', async () => {
    const window = { from: new Date(0), to: new Date(8_000) };
    const spans: string[] = [];
    const client = {
      async searchIds({ createdAt }: { createdAt?: { min: string; max: string } }) {
        if (createdAt === undefined) return { searchResults: { ids: [] } };
        const [min, max] = [Date.parse(createdAt.min) / 1000, Date.parse(createdAt.max) / 1000];
        spans.push(`${min}-${max}`);
        const isCrowded = min <= 3 && max >= 3 && min !== max;
        return { searchResults: { ids: isCrowded ? Array(10_000).fill('x') : [] } };
      },
      searchPage: async () => ({ creditCardTransactions: {} }),
      find: async () => ({}),
    };
    const listing = await listAll(
      { listRefunds: (asked, callOptions) => listRefunds(() => client, asked, callOptions) },
      window,
    );
    expect(listing.refunds).toEqual([]);
    expect(spans).toEqual(['0-7', '0-3', '0-1', '2-3', '2-2', '3-3', '4-7']);
  });

  test('fails when one second has more than a search can return', async () => {
    const client = {
      searchIds: async () => ({ searchResults: { ids: Array(10_000).fill('x') } }),
      searchPage: async () => ({ creditCardTransactions: {} }),
      find: async () => ({}),
    };
    const answer = await listRefunds(() => client, { from: new Date(0), to: new Date(1_000) }, options);
    expect(answer).toMatchObject({
      kind: 'unavailable',
      failure: { message: expect.stringContaining('one second') },
    });
  });
});
