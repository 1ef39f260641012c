import { describe, expect, test } from 'vitest';
import { braintreeVariants, useProcessor } from '../../support/processors/processor-variants.ts';
import { submissionFor } from '../../support/refunds/refund-records.ts';

const options = { timeoutMs: 5_000 };
const whole = { amount: 5_000n };

describe.each(braintreeVariants)('payments that have not settled: $title', (variant) => {
  const { control, processor, payment, moved } = useProcessor(variant);

  const unsettledSale = (status = 'submitted_for_settlement') => payment({ status });

  test.each(['authorized', 'submitted_for_settlement'])(
    'the whole of a payment that is %s is given back by voiding it',
    async (status) => {
      const id = await unsettledSale(status);
      const submission = submissionFor(id, whole);
      const refund = {
        id,
        amount: 5_000n,
        currency: 'usd',
        state: 'completed',
        processorStatus: 'voided',
        refundId: submission.refundId,
        requestDigest: null,
        failure: null,
      };
      expect(await processor.createRefund(submission, options)).toEqual({ kind: 'accepted', refund });
      expect(await moved(id)).toMatchObject([{ id, amount: 5_000, status: 'voided' }]);
      const found = { kind: 'found', value: refund };
      expect(await processor.getRefund(id, submission, options)).toEqual(found);
      expect(await processor.findRefund(submission, options)).toEqual(found);
      expect(await processor.getPayment(id, options)).toMatchObject({
        value: { refunds: [{ id, amount: 5_000n, state: 'completed', refundId: null }] },
      });
    },
  );

  test('delays a partial refund', async () => {
    const id = await unsettledSale();
    const submission = submissionFor(id);
    expect(await processor.createRefund(submission, options)).toMatchObject({
      kind: 'unavailable',
      failure: {
        code: 'unsettled',
        message: expect.stringMatching(/only after .* settled|settled .* only/),
      },
      retryAfterMs: 3_600_000,
      rateLimited: false,
    });
    expect(await moved(id)).toEqual([]);
    await control.changeTransaction(id, { status: 'settled' });
    expect(await processor.createRefund(submission, options)).toMatchObject({ kind: 'accepted' });
  });

  test('rejects more than the whole amount', async () => {
    const id = await unsettledSale();
    expect(await processor.createRefund(submissionFor(id, { amount: 5_001n }), options)).toMatchObject({
      kind: 'rejected',
      failure: { code: 'amount_too_large' },
    });
  });

  test('reports a voided payment as refunded', async () => {
    const id = await unsettledSale();
    await processor.createRefund(submissionFor(id, whole), options);
    expect(await processor.createRefund(submissionFor(id, whole), options)).toMatchObject({
      kind: 'rejected',
      failure: { code: 'already_refunded' },
    });
    expect(await processor.findRefund(submissionFor(id), options)).toMatchObject({
      kind: 'not-found',
    });
    expect(await moved(id)).toHaveLength(1);
  });

  test.each(['timeout', 'reset', 'error-500', 'malformed'])(
    '%s while reading the payment before a refund is unavailable, because nothing was sent',
    async (kind) => {
      const id = await unsettledSale('settled');
      await control.fault({ processor: 'braintree', operation: 'transaction.get', kind, delayMs: 2_000 });
      expect(await processor.createRefund(submissionFor(id), { timeoutMs: 400 })).toMatchObject({
        kind: 'unavailable',
      });
      expect(await moved(id)).toEqual([]);
    },
  );
});
