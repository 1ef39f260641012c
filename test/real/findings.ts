import { setTimeout as sleep } from 'node:timers/promises';
import type { ProcessorRefund } from '#shared/processors/contract/processor.ts';
import { stripeClient } from '#shared/processors/stripe/client.ts';
import { refundedAt } from '../support/processors/describe/anywhere.ts';
import { listAll } from '../support/processors/describe/listing.ts';
import { connect, options } from '../support/processors/processor-variants.ts';
import { submissionFor } from '../support/refunds/refund-records.ts';
import type { RealTarget } from './targets.ts';

/** What no document says, and how it is measured. The answer is for people. */
export type Measurement = (target: RealTarget) => Promise<string>;

export const measurements: Readonly<Record<string, Readonly<Record<string, Measurement>>>> = {
  stripe: {
    'Is the list of refunds of a missing charge empty, or a 404?': async ({ processor, ids }) =>
      `findRefund answers ${(await processor.findRefund(submissionFor(ids.missingPayment), options)).kind}`,
    'Which status has a card refund in the answer?': async (target) => {
      const { refund } = await refundedAt(target);
      return `${refund.processorStatus} (${refund.arrival?.kind ?? 'no arrival'})`;
    },
    'Does amount_refunded count a pending refund?': async (target) => {
      const charge = await target.makePayment({ amount: 5_000n, refunds: 'pending' });
      const { refund } = await refundedAt({ processor: target.processor, payment: async () => charge });
      const { amount_refunded: amount } = await clientOf(target).charges.retrieve(charge);
      return `the refund of 1500 is ${refund.processorStatus}, amount_refunded is ${amount}`;
    },
    'What becomes of a refund to 4000 0000 0000 5126?': async (target) => {
      const charge = await target.makePayment({ amount: 5_000n, refunds: 'failing' });
      const made = await refundedAt({ processor: target.processor, payment: async () => charge });
      return await statusesOf(target, made.refund, made.submission);
    },
  },
  braintree: {
    'Does a sale list its new refund at once?': async (target) => {
      const started = performance.now();
      const { submission } = await refundedAt(target);
      const after = performance.now();
      const found = await until(
        async () => (await target.processor.findRefund(submission, options)).kind === 'found',
      );
      return found === null
        ? 'not within a minute'
        : `found ${Math.round(found - after)} ms after the answer, which took ${Math.round(after - started)} ms`;
    },
    'When does a search find a new refund?': async (target) => {
      const { refund } = await refundedAt(target);
      const after = performance.now();
      const day = 24 * 60 * 60 * 1000;
      const window = { from: new Date(Date.now() - day), to: new Date(Date.now() + day) };
      const found = await until(async () =>
        (await listAll(target.processor, window)).refunds.some(({ id }) => id === refund.id),
      );
      return found === null ? 'not within a minute' : `after ${Math.round(found - after)} ms`;
    },
    'May an SDK send apiRequestKey, and does a repeated one return the same refund?': async (target) => {
      const keyed = connect(
        target.name,
        { ...target.credentials, useApiRequestKey: true },
        target.recorder.url,
      );
      const submission = submissionFor(await target.payment());
      const answers = [
        await keyed.createRefund(submission, options),
        await keyed.createRefund(submission, options),
      ];
      return answers
        .map((answer) =>
          'refund' in answer ? `${answer.kind} ${answer.refund.id}` : `${answer.kind} ${answer.failure.code}`,
        )
        .join(', then ');
    },
    'What does a refund of 2004.00 come to?': (target) => declined(target, 200_400n),
    'What does a refund of 2046.00 come to?': (target) => declined(target, 204_600n),
  },
};

async function declined(target: RealTarget, amount: bigint): Promise<string> {
  const submission = submissionFor(await target.makePayment({ amount: 400_000n }), { amount });
  const answer = await target.processor.createRefund(submission, options);
  const later = await target.processor.findRefund(submission, options);
  const words = 'refund' in answer ? answer.refund.processorStatus : answer.failure.code;
  return `${answer.kind} (${words}); a lookup answers ${later.kind === 'found' ? later.value.processorStatus : later.kind}`;
}

async function statusesOf(
  { processor }: RealTarget,
  refund: ProcessorRefund,
  submission: ReturnType<typeof submissionFor>,
): Promise<string> {
  const seen = [refund.processorStatus];
  await until(async () => {
    const read = await processor.getRefund(refund.id, submission, options);
    if (read.kind === 'found' && read.value.processorStatus !== seen.at(-1))
      seen.push(read.value.processorStatus);
    return seen.length > 1;
  });
  return seen.join(', then ');
}

const longestMs = 60_000;

/** When something is so, as `performance.now()`; null when it is not within a minute. */
async function until(isSo: () => Promise<boolean>): Promise<number | null> {
  for (const end = performance.now() + longestMs; performance.now() < end; await sleep(1_000)) {
    if (await isSo()) return performance.now();
  }
  return null;
}

function clientOf({ credentials, base, proxies }: RealTarget) {
  return stripeClient({ secretKey: String(credentials.secretKey), apiBase: base }, proxies);
}
