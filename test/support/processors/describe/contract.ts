import { describe, expect, test } from 'vitest';
import { submissionFor } from '../../refunds/refund-records.ts';
import { connect, options, type ProcessorVariant, useProcessor } from '../processor-variants.ts';
import { testAnywhere } from './anywhere.ts';

/** What each call to an adapter answers. */
export function describeContract(variant: ProcessorVariant): void {
  describe(`the contract of a processor: ${variant.title}`, () => {
    const { ids, statuses, chargedBack, knowsKeys, cancellable } = variant;
    const { sandbox, control, processor, payment, refunded, moved } = useProcessor(variant);

    testAnywhere({
      ...{ processor, ids, knowsKeys, payment, moved },
      wrong: () => connect(variant.name, variant.wrongCredentials, sandbox.url),
    });

    test('reads a payment with its amount, currency, time and refunds', async () => {
      const { transactionId, submission } = await refunded({ createdAt: '2026-01-31T12:00:00Z' });
      const [refund] = await moved(transactionId);
      expect(await processor.getPayment(transactionId, options)).toEqual({
        kind: 'found',
        value: {
          transactionIds: variant.transactionIds(transactionId),
          amount: 5_000n,
          currency: 'usd',
          chargedAt: new Date('2026-01-31T12:00:00Z'),
          refunds: [
            {
              id: refund?.id,
              amount: 1_500n,
              currency: 'usd',
              state: 'open',
              processorStatus: refund?.status,
              refundId: submission.refundId,
              requestDigest: null,
              organizationId: submission.organizationId,
              failure: null,
              dueBy: expect.any(Date),
              ...(variant.name === 'stripe' && {
                arrival: { kind: 'credit', reference: null, referenceType: null },
              }),
            },
          ],
          unrefundable: null,
          ...{ hasTransfer: false, transferDestination: null, applicationFee: false },
        },
      });
    });

    test('does not refund a payment that was charged back, whose money the customer has', async () => {
      const id = await payment({ status: chargedBack });
      const failure = { code: 'charge_disputed' };
      expect(await processor.getPayment(id, options)).toMatchObject({ value: { unrefundable: failure } });
      const refused = { kind: 'rejected', failure };
      expect(await processor.createRefund(submissionFor(id), options)).toMatchObject(refused);
      expect(await moved(id)).toEqual([]);
    });

    test.each([
      ['usd', 1_501n],
      ['jpy', 1_501n],
      ['kwd', 1_500n],
      ['huf', 1_500n],
      ['isk', 15n],
      ['ugx', 15n],
      ['mga', 1_500n],
    ])('moves exactly the amount of a refund in %s', async (currency, amount) => {
      const { transactionId, submission, refund } = await refunded({ currency }, { amount, currency });
      expect(refund).toMatchObject({ amount, currency, refundId: submission.refundId, failure: null });
      const [key, minor] = [submission.refundId, Number(amount)];
      expect(await moved(transactionId)).toMatchObject([{ amount: minor, currency, key }]);
      expect(await processor.getPayment(transactionId, options)).toMatchObject({
        value: { amount: 5_000n, refunds: [{ amount }] },
      });
    });

    test.each(['completed', 'failed'] as const)(
      'reads a refund that has %s by its id and by ours',
      async (state) => {
        const {
          submission,
          refund: { dueBy: _, ...refund },
        } = await refunded();
        const processorStatus = statuses[state];
        await control.driveRefund(refund.id, { status: processorStatus });
        const reason = { code: expect.any(String), message: expect.stringMatching(/\w/) };
        const failure = state === 'failed' ? expect.objectContaining(reason) : null;
        const found = { kind: 'found', value: { ...refund, state, processorStatus, failure } };
        expect(await processor.getRefund(refund.id, submission, options)).toEqual(found);
        expect(await processor.findRefund(submission, options)).toEqual(found);
      },
    );

    test('does not take a missing payment as proof that it has no refund', async () => {
      const lookup = await processor.findRefund(submissionFor(ids.missingPayment), options);
      expect(lookup).toMatchObject({ kind: 'payment-not-found' });
    });

    test('rejects a declined refund with the reason of the processor', async () => {
      const failure = { message: expect.stringMatching(/declined|expired card/i) };
      const answer = await processor.createRefund(submissionFor(ids.declined), options);
      expect(answer).toMatchObject({ kind: 'rejected', failure });
      expect(await moved(ids.declined)).toEqual([]);
    });

    test('cancels an open refund once, and no settled or missing one', async () => {
      const open = await refunded(cancellable);
      const cancel = (id: string) => processor.cancelRefund(id, open.submission, options);
      const refused = { kind: 'refused', failure: { message: expect.stringMatching(/\w/) } };
      expect(await cancel(open.refund.id)).toMatchObject({
        kind: 'cancelled',
        refund: { state: 'cancelled' },
      });
      expect(await cancel(open.refund.id)).toMatchObject(refused);
      const read = await processor.getRefund(open.refund.id, open.submission, options);
      expect(read).toMatchObject({ value: { state: 'cancelled' } });

      const settled = await refunded(cancellable);
      await control.driveRefund(settled.refund.id, { status: statuses.completed });
      expect(await processor.cancelRefund(settled.refund.id, settled.submission, options)).toMatchObject(
        refused,
      );
      expect(await cancel(ids.missingRefund)).toMatchObject(refused);
    });
  });
}
