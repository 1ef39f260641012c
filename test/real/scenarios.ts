import type { CallAnswer, Processor } from '#shared/processors/contract/processor.ts';
import { refundedAt } from '../support/processors/describe/anywhere.ts';
import { options } from '../support/processors/processor-variants.ts';
import { submissionFor } from '../support/refunds/refund-records.ts';
import type { RecordedCall } from './recording.ts';
import type { RealTarget } from './targets.ts';

/** A call to record, once what it needs has been made. */
interface Prepared {
  call: RecordedCall;
  given: unknown[];
}

/** What is recorded of a processor, by the name of its file. */
export const scenarios: Readonly<Record<string, (target: RealTarget) => Promise<Prepared>>> = {
  'payment-without-refunds': async (target) => ({ call: 'getPayment', given: [await target.payment()] }),
  'payment-with-a-refund': async (target) => {
    const { transactionId } = await refundedAt(target);
    return { call: 'getPayment', given: [transactionId] };
  },
  'payment-missing': async ({ ids }) => ({ call: 'getPayment', given: [ids.missingPayment] }),
  'refund-accepted': async (target) => ({
    call: 'createRefund',
    given: [submissionFor(await target.payment())],
  }),
  'refund-too-large': async (target) => {
    const { transactionId } = await refundedAt(target, { amount: 4_000n });
    return { call: 'createRefund', given: [submissionFor(transactionId, { amount: 1_001n })] };
  },
  'refund-of-a-refunded-payment': async (target) => {
    const { transactionId } = await refundedAt(target, { amount: 5_000n });
    return { call: 'createRefund', given: [submissionFor(transactionId, { amount: 1n })] };
  },
  'refund-of-a-missing-payment': async ({ ids }) => ({
    call: 'createRefund',
    given: [submissionFor(ids.missingPayment)],
  }),
  'refund-found': async (target) => ({ call: 'findRefund', given: [(await refundedAt(target)).submission] }),
  'refund-read': async (target) => {
    const { refund, submission } = await refundedAt(target);
    return { call: 'getRefund', given: [refund.id, submission] };
  },
  'probe-of-refunds': async () => ({ call: 'probe', given: ['refund'] }),
  'probe-of-cancellations': async () => ({ call: 'probe', given: ['cancel'] }),
};

/** Makes a recorded call. */
export async function make(processor: Processor, { call, given }: Prepared): Promise<CallAnswer> {
  const method = processor[call] as (...given: unknown[]) => Promise<CallAnswer>;
  return await Reflect.apply(method, processor, [...given, options]);
}
