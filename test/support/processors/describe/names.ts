import { describe, expect, test } from 'vitest';
import { submissionFor } from '../../refunds/refund-records.ts';
import { type OtherName, options, type ProcessorVariant, useProcessor } from '../processor-variants.ts';

/** What else than its own ids a payment is known by. */
export function describeNames(variant: ProcessorVariant): void {
  describe(`the names of a payment: ${variant.title}`, () => {
    const { control, processor, payment, moved } = useProcessor(variant);
    const { otherNames, sharedName, transactionIds } = variant;
    let made = 0;

    /** A new payment, and the name to ask for with the others that the answer tells. */
    const named = async ({ fields, names }: OtherName) => {
      made += 1;
      const key = `name${made}`;
      const id = await payment(fields(key));
      const [asked, ...others] = names(key, id);
      return { id, asked, others };
    };

    test.each(otherNames)('a payment is read by $title, and tells all its names', async (other) => {
      const { id, asked, others } = await named(other);
      const value = { amount: 5_000n, transactionIds: [...transactionIds(id), asked, ...others] };
      expect(await processor.getPayment(asked, options)).toMatchObject({ kind: 'found', value });
      const own = { kind: 'found', value: { transactionIds: transactionIds(id) } };
      expect(await processor.getPayment(id, options)).toMatchObject(own);
    });

    test.each(otherNames)('a payment named by $title is refunded, and its refund found', async (other) => {
      const { id, asked } = await named(other);
      const submission = submissionFor(asked);
      const answer = await processor.createRefund(submission, options);
      if (answer.kind !== 'accepted') throw new Error(answer.kind);
      expect(await moved(id)).toMatchObject([{ amount: 1_500, key: submission.refundId }]);
      const found = { kind: 'found', value: { id: answer.refund.id } };
      expect(await processor.findRefund(submission, options)).toMatchObject(found);
      expect(await processor.getRefund(answer.refund.id, submission, options)).toMatchObject(found);
    });

    test.each(otherNames)('$title that cannot be read now is neither missing nor refused', async (other) => {
      const { asked } = await named(other);
      await control.fault({ processor: variant.name, operation: '*', kind: 'error-503', times: null });
      const unavailable = { kind: 'unavailable' };
      expect(await processor.getPayment(asked, options)).toMatchObject(unavailable);
      expect(await processor.createRefund(submissionFor(asked), options)).toMatchObject(unavailable);
      expect(await processor.findRefund(submissionFor(asked), options)).toMatchObject(unavailable);
    });

    test('a name of several payments lists them, moves nothing, and proves nothing', async () => {
      const { fields, name } = sharedName;
      const ids = [await payment(fields), await payment(fields)];
      const answer = await processor.getPayment(name, options);
      if (answer.kind !== 'ambiguous') throw new Error(answer.kind);
      const listed = ids.map((id) => transactionIds(id)[0]);
      expect(answer.transactionIds.toSorted()).toEqual(listed.toSorted());
      for (const id of listed) expect(answer.failure.message).toContain(id);
      const submission = submissionFor(name);
      expect(await processor.createRefund(submission, options)).toMatchObject({ kind: 'rejected' });
      for (const id of ids) expect(await moved(id)).toEqual([]);
      const lookup = await processor.findRefund(submission, options);
      expect(lookup).toMatchObject({ kind: 'payment-not-found' });
    });
  });
}
