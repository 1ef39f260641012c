import { describe, expect, test } from 'vitest';
import type { CallAnswer } from '#shared/processors/contract/processor.ts';
import { referenceOf, submissionFor } from '../../refunds/refund-records.ts';
import { connect, type ProcessorVariant, useProcessor } from '../processor-variants.ts';

const options = { timeoutMs: 5_000 };

/** What each call to an adapter answers. */
export function describeContract(variant: ProcessorVariant): void {
  describe(`the contract of a processor: ${variant.title}`, () => {
    const { findsRefunds, readsRefunds } = variant.capabilities;

    const { sandbox, control, processor, payment, moved } = useProcessor(variant);

    test('reads a payment with its amount, currency, time and refunds', async () => {
      const id = await payment({ createdAt: '2026-01-31T12:00:00Z' });
      const submission = submissionFor(id);
      await processor.createRefund(submission, options);
      const answer = await processor.getPayment(id, options);
      const [refund] = await moved(id);
      expect(answer).toEqual({
        kind: 'found',
        value: {
          transactionIds: variant.transactionIds(id),
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
              refundId: variant.capabilities.findsRefunds ? submission.refundId : null,
              failure: null,
            },
          ],
          unrefundable: null,
        },
      });
    });

    test('does not find an unknown or impossible id', async () => {
      const unknownId = variant.ids.missingPayment;
      expect(await processor.getPayment(unknownId, options)).toMatchObject({ kind: 'not-found' });
      expect(await processor.getPayment('../v1/account?', options)).toMatchObject({ kind: 'not-found' });
      expect(await processor.createRefund(submissionFor(unknownId), options)).toMatchObject({
        kind: 'rejected',
      });
      expect(await processor.createRefund(submissionFor('../x'), options)).toMatchObject({
        kind: 'rejected',
      });
    });

    if (findsRefunds) {
      test('treats a lookup of an unknown payment as no proof', async () => {
        const unknownId = variant.ids.missingPayment;
        const answer = await processor.findRefund(referenceOf(submissionFor(unknownId)), options);
        expect(answer).toMatchObject({ kind: 'payment-not-found' });
      });
    }

    test.each([
      ['usd', 1_501n],
      ['jpy', 1_501n],
      ['kwd', 1_500n],
      ['huf', 1_500n],
      ['isk', 15n],
      ['ugx', 15n],
      ['mga', 1_500n],
    ])('moves exactly the amount of a refund in %s', async (currency, amount) => {
      const id = await payment({ currency, amount: 5_000 });
      const submission = submissionFor(id, { amount, currency });
      const answer = await processor.createRefund(submission, options);
      expect(answer).toMatchObject({
        kind: 'accepted',
        refund: { amount, currency, refundId: submission.refundId, failure: null },
      });
      expect(await moved(id)).toMatchObject([{ amount: Number(amount), currency, key: submission.refundId }]);
      expect(await processor.getPayment(id, options)).toMatchObject({
        value: { amount: 5_000n, refunds: [{ amount }] },
      });
    });

    if (findsRefunds && readsRefunds) {
      test('reads a refund in its current state by its id and by ours', async () => {
        const submission = submissionFor(await payment());
        const accepted = await processor.createRefund(submission, options);
        if (accepted.kind !== 'accepted') throw new Error(accepted.kind);
        const done = variant.statuses.completed;
        await control.driveRefund(accepted.refund.id, { status: done });
        const expected = { ...accepted.refund, state: 'completed', processorStatus: done };
        const reference = referenceOf(submission);
        expect(await processor.getRefund(accepted.refund.id, reference, options)).toEqual({
          kind: 'found',
          value: expected,
        });
        expect(await processor.findRefund(reference, options)).toEqual({ kind: 'found', value: expected });
      });
    }

    if (readsRefunds) {
      test('reads why a refund failed', async () => {
        const id = await payment();
        const submission = submissionFor(id);
        const accepted = await processor.createRefund(submission, options);
        if (accepted.kind !== 'accepted') throw new Error(accepted.kind);
        const status = variant.statuses.failed;
        await control.driveRefund(accepted.refund.id, { status });
        const answer = await processor.getRefund(accepted.refund.id, referenceOf(submission), options);
        expect(answer).toMatchObject({
          kind: 'found',
          value: {
            state: 'failed',
            failure: { code: expect.any(String), message: expect.stringMatching(/\w/) },
          },
        });
      });
    }

    if (findsRefunds && readsRefunds) {
      test('does not find a missing refund among others', async () => {
        const id = await payment();
        await processor.createRefund(submissionFor(id), options);
        expect(await processor.findRefund(referenceOf(submissionFor(id)), options)).toMatchObject({
          kind: 'not-found',
        });
        const unknownRefund = variant.ids.missingRefund;
        for (const refundId of [unknownRefund, '../account', '']) {
          expect(await processor.getRefund(refundId, referenceOf(submissionFor(id)), options)).toMatchObject({
            kind: 'not-found',
          });
        }
      });
    }

    test('treats another request with the same key as unknown', async () => {
      const id = await payment();
      const submission = submissionFor(id);
      await processor.createRefund(submission, options);
      const other = await processor.createRefund({ ...submission, amount: 700n }, options);
      expect(other).toMatchObject(
        variant.knowsKeys ? { kind: 'unknown', replied: true } : { kind: 'accepted' },
      );
    });

    test('rejects refunds of a refunded payment, or of too much, with common codes', async () => {
      const id = await payment();
      await processor.createRefund(submissionFor(id, { amount: 4_000n }), options);
      const tooMuch = await processor.createRefund(submissionFor(id, { amount: 1_001n }), options);
      expect(tooMuch).toMatchObject({ kind: 'rejected', failure: { code: 'amount_too_large' } });
      await processor.createRefund(submissionFor(id, { amount: 1_000n }), options);
      const spent = await processor.createRefund(submissionFor(id, { amount: 1n }), options);
      expect(spent).toMatchObject({ kind: 'rejected', failure: { code: 'already_refunded' } });
      expect(await moved(id)).toHaveLength(2);
    });

    test('rejects a declined refund with the reason of the processor', async () => {
      const id = variant.ids.declined;
      const answer = await processor.createRefund(submissionFor(id), options);
      expect(answer).toMatchObject({
        kind: 'rejected',
        failure: { message: expect.stringMatching(/declined/i) },
      });
      expect(await moved(id)).toEqual([]);
    });

    test('reports wrong credentials in every call and moves nothing', async () => {
      const wrong = connect(variant.name, variant.wrongCredentials, sandbox.url);
      const id = await payment();
      const submission = submissionFor(id);
      const reference = referenceOf(submission);
      const refundId = variant.ids.refund;
      const answers: CallAnswer[] = [
        await wrong.getPayment(id, options),
        await wrong.createRefund(submission, options),
      ];
      if (findsRefunds) answers.push(await wrong.findRefund(reference, options));
      if (readsRefunds) answers.push(await wrong.getRefund(refundId, reference, options));
      if (variant.cancellable !== null) answers.push(await wrong.cancelRefund(refundId, reference, options));
      expect(answers.map(({ kind }) => kind)).toEqual(answers.map(() => 'misconfigured'));
      expect(
        JSON.stringify(answers, (_, value) => (typeof value === 'bigint' ? `${value}` : value)),
      ).not.toMatch(/sk_test_(?!\[redacted\])|private/);
      expect(await moved(id)).toEqual([]);
    });

    if (variant.cancellable !== null) {
      const acceptedRefund = async () => {
        const submission = submissionFor(await payment(variant.cancellable ?? {}));
        const accepted = await processor.createRefund(submission, options);
        if (accepted.kind !== 'accepted') throw new Error(accepted.kind);
        return { id: accepted.refund.id, reference: referenceOf(submission) };
      };

      test('cancels an open refund once and refuses a second time', async () => {
        const { id, reference } = await acceptedRefund();
        const cancel = () => processor.cancelRefund(id, reference, options);
        expect(await cancel()).toMatchObject({ kind: 'cancelled', refund: { state: 'cancelled' } });
        const failure = { message: expect.stringMatching(/\w/) };
        expect(await cancel()).toMatchObject({ kind: 'refused', failure });
        const value = { state: 'cancelled' };
        expect(await processor.getRefund(id, reference, options)).toMatchObject({ value });
      });

      test('does not cancel a settled refund, nor a missing one', async () => {
        const { id, reference } = await acceptedRefund();
        await control.driveRefund(id, { status: variant.statuses.completed });
        for (const each of [id, variant.ids.missingRefund]) {
          expect(await processor.cancelRefund(each, reference, options)).toMatchObject({ kind: 'refused' });
        }
      });
    }
  });
}
