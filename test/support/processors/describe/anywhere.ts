import { expect, test } from 'vitest';
import {
  abilities,
  type CallAnswer,
  type Processor,
  type ProcessorRefund,
  type RefundSubmission,
} from '#shared/processors/contract/processor.ts';
import { submissionFor } from '../../refunds/refund-records.ts';
import { options } from '../processor-variants.ts';

/** A processor with payments, be it the sandbox or a real test environment. */
export interface ProcessorInUse {
  processor: Processor;
  /** With credentials that the processor refuses. */
  wrong: () => Processor;
  /** Ids of the processor's form that do not exist, and of any payment and refund. */
  ids: { payment: string; refund: string; missingPayment: string; missingRefund: string };
  /** True when the processor itself knows a repeated submission by its key. */
  knowsKeys: boolean;
  /** A payment of 50.00 USD of which a part can be refunded. */
  payment(): Promise<string>;
  /** The refunds that moved money of a payment, or that were cancelled since. */
  moved(transactionId: string): Promise<readonly unknown[]>;
}

/** A new payment with an accepted refund of 15.00 USD. */
export async function refundedAt(
  { processor, payment }: Pick<ProcessorInUse, 'processor' | 'payment'>,
  asked: Partial<RefundSubmission> = {},
): Promise<{ transactionId: string; submission: RefundSubmission; refund: ProcessorRefund }> {
  const transactionId = await payment();
  const submission = submissionFor(transactionId, asked);
  const answer = await processor.createRefund(submission, options);
  if (answer.kind !== 'accepted')
    throw new Error(`The refund was not accepted: ${JSON.stringify(answer.kind)}`);
  return { transactionId, submission, refund: answer.refund };
}

/** The part of the contract that asks nothing of a processor but payments. @param inUse called in tests alone. */
export function testAnywhere(inUse: ProcessorInUse): void {
  const { ids, knowsKeys } = inUse;

  test('does not find an unknown or impossible payment, and takes that as no proof', async () => {
    const { processor } = inUse;
    for (const id of [ids.missingPayment, '../v1/account?']) {
      expect(await processor.getPayment(id, options)).toMatchObject({ kind: 'not-found' });
      expect(await processor.createRefund(submissionFor(id), options)).toMatchObject({ kind: 'rejected' });
    }
    const sent = await processor.createRefund(submissionFor(ids.missingPayment), options);
    expect(sent).toMatchObject({ missing: true });
  });

  test('reads a new refund by its id, by ours, and among those of its payment', async () => {
    const { processor } = inUse;
    const { transactionId, submission, refund } = await refundedAt(inUse);
    const { id, amount, currency } = refund;
    const { refundId, organizationId } = submission;
    const value = { id, amount, currency, refundId, organizationId };
    expect(value).toMatchObject({ amount: 1_500n, currency: 'usd' });
    expect(await processor.getRefund(id, submission, options)).toMatchObject({ kind: 'found', value });
    expect(await processor.findRefund(submission, options)).toMatchObject({ kind: 'found', value });
    expect(await processor.getPayment(transactionId, options)).toMatchObject({
      value: { amount: 5_000n, currency: 'usd', refunds: [value], unrefundable: null },
    });
  });

  test('finds the refund of a request that is repeated under another id', async () => {
    const { processor } = inUse;
    const { submission, refund } = await refundedAt(inUse, { requestDigest: 'd'.repeat(43) });
    const again = submissionFor(submission.transactionId, { requestDigest: submission.requestDigest });
    const value = { id: refund.id, requestDigest: submission.requestDigest };
    expect(await processor.findRefund(again, options)).toMatchObject({ kind: 'found', value });
    const another = submissionFor(submission.transactionId, { requestDigest: 'e'.repeat(43) });
    expect(await processor.findRefund(another, options)).toMatchObject({ kind: 'not-found' });
  });

  test('does not find a missing refund among others', async () => {
    const { processor } = inUse;
    const { transactionId } = await refundedAt(inUse);
    const missing = submissionFor(transactionId);
    const notFound = { kind: 'not-found' };
    expect(await processor.findRefund(missing, options)).toMatchObject(notFound);
    for (const id of [ids.missingRefund, '../account', '']) {
      expect(await processor.getRefund(id, missing, options)).toMatchObject(notFound);
    }
  });

  test('moves money once for a repeated submission where the processor has idempotency keys', async () => {
    const { processor, moved } = inUse;
    const { transactionId, submission } = await refundedAt(inUse);
    expect(await processor.createRefund(submission, options)).toMatchObject({ kind: 'accepted' });
    const other = await processor.createRefund({ ...submission, amount: 700n }, options);
    expect(other).toMatchObject(knowsKeys ? { kind: 'unknown', keyRefused: true } : { kind: 'accepted' });
    expect(await moved(transactionId)).toHaveLength(knowsKeys ? 1 : 3);
  });

  test('rejects refunds of a refunded payment, or of too much, with common codes', async () => {
    const { processor, moved } = inUse;
    const { transactionId } = await refundedAt(inUse, { amount: 4_000n });
    const refuse = async (amount: bigint, code: string) =>
      expect(await processor.createRefund(submissionFor(transactionId, { amount }), options)).toMatchObject({
        kind: 'rejected',
        failure: { code },
      });
    await refuse(1_001n, 'amount_too_large');
    await processor.createRefund(submissionFor(transactionId, { amount: 1_000n }), options);
    await refuse(1n, 'already_refunded');
    expect(await moved(transactionId)).toHaveLength(2);
  });

  test('reports wrong credentials in every call and moves nothing', async () => {
    const id = await inUse.payment();
    const wrong = inUse.wrong();
    const submission = submissionFor(id);
    const answers: CallAnswer[] = [
      await wrong.getPayment(id, options),
      await wrong.createRefund(submission, options),
      await wrong.findRefund(submission, options),
      await wrong.getRefund(ids.refund, submission, options),
      await wrong.cancelRefund(ids.refund, submission, options),
    ];
    expect(answers.map(({ kind }) => kind)).toEqual(answers.map(() => 'misconfigured'));
    const text = JSON.stringify(answers, (_, value) => (typeof value === 'bigint' ? `${value}` : value));
    expect(text).not.toMatch(/sk_test_(?!\[redacted\])|private/);
    expect(await inUse.moved(id)).toEqual([]);
  });

  test('shows that working credentials permit everything, and that wrong ones permit nothing', async () => {
    for (const ability of abilities.filter((each) => each !== 'webhooks')) {
      expect(await inUse.processor.probe(ability, options)).toEqual({ kind: 'permitted', ability });
      const refused = { kind: 'misconfigured', scope: 'credentials' };
      expect(await inUse.wrong().probe(ability, options)).toMatchObject(refused);
    }
  });
}
