import { describe, expect, test } from 'vitest';
import type { CallAnswer } from '#shared/processors/contract/processor.ts';
import { startSandbox } from '#test/sandbox/server.ts';
import { referenceOf, submissionFor } from '../../refunds/refund-records.ts';
import { connect, type ProcessorVariant, useProcessor } from '../processor-variants.ts';

const options = { timeoutMs: 5_000 };
/** For calls that are to run out of time; the sandbox holds them longer than that. */
const shortly = { timeoutMs: 800 };
const holdMs = 2_000;

/** What each call answers when the processor or the network fails. */
export function describeFaults(variant: ProcessorVariant): void {
  describe(`faults of a processor: ${variant.title}`, () => {
    const { findsRefunds, readsRefunds } = variant.capabilities;

    const { control, processor, payment, moved } = useProcessor(variant);

    const arm = (operation: string, kind: string) =>
      control.fault({
        processor: variant.name,
        operation,
        kind,
        ...(kind.startsWith('timeout') ? { delayMs: holdMs } : {}),
      });

    const rateLimited = { kind: 'unavailable', rateLimited: true, retryAfterMs: variant.retryAfterMs };
    const submissions: [kind: string, result: object, moves: boolean][] = [
      ['error-403', { kind: 'misconfigured' }, false],
      ['error-500', { kind: 'unknown', replied: true }, false],
      ['error-500-after-apply', { kind: 'unknown', replied: true }, true],
      ['error-503', { kind: 'unknown', replied: variant.repliesWith503 }, false],
      ['rate-limit', rateLimited, false],
      ['timeout', { kind: 'unknown', replied: false }, false],
      ['timeout-after-apply', { kind: 'unknown', replied: false }, true],
      ['reset', { kind: 'unknown', replied: false }, false],
      ['reset-after-apply', { kind: 'unknown', replied: false }, true],
      ['malformed', { kind: 'unknown', replied: true }, true],
      ['delay', { kind: 'accepted' }, true],
    ];

    test.each(submissions)('classifies %s during a submission as %o', async (kind, result, moves) => {
      const id = await payment();
      const submission = submissionFor(id);
      await arm('refund.create', kind);
      const answer = await processor.createRefund(submission, kind.startsWith('timeout') ? shortly : options);
      expect(answer).toMatchObject(result);
      expect(await moved(id)).toHaveLength(moves ? 1 : 0);
      if (!findsRefunds) return;
      const lookup = await processor.findRefund(referenceOf(submission), options);
      expect(lookup.kind).toBe(moves ? 'found' : 'not-found');
    });

    test.each(['error-500', 'timeout-after-apply', 'reset-after-apply', 'malformed', 'delay'])(
      'after %s, the same key moves the money once, where the processor knows keys',
      async (kind) => {
        const id = await payment();
        const submission = submissionFor(id);
        await arm('refund.create', kind);
        await processor.createRefund(submission, kind.startsWith('timeout') ? shortly : options);
        const before = await moved(id);
        expect(await processor.createRefund(submission, options)).toMatchObject({ kind: 'accepted' });
        expect(await moved(id)).toHaveLength(variant.knowsKeys ? 1 : before.length + 1);
      },
    );

    test.each(['error-500', 'error-503', 'rate-limit', 'timeout', 'reset', 'malformed'])(
      '%s during a read is unavailable, never an answer',
      async (kind) => {
        const id = await payment();
        const submission = submissionFor(id);
        const accepted = await processor.createRefund(submission, options);
        if (accepted.kind !== 'accepted') throw new Error(accepted.kind);
        const reference = referenceOf(submission);
        // However early a read is given up, it is unavailable.
        const limits = kind === 'timeout' ? { timeoutMs: 200 } : options;
        const expected = { kind: 'unavailable', rateLimited: kind === 'rate-limit' };

        await arm('transaction.get', kind);
        expect(await processor.getPayment(id, limits)).toMatchObject(expected);
        await arm(variant.operations.refundsOfPayment, kind);
        expect(await processor.getPayment(id, limits)).toMatchObject(expected);
        if (findsRefunds) {
          await arm(variant.operations.lookup, kind);
          expect(await processor.findRefund(reference, limits)).toMatchObject(expected);
        }
        if (!readsRefunds) return;
        await arm('refund.get', kind);
        expect(await processor.getRefund(accepted.refund.id, reference, limits)).toMatchObject(expected);
      },
    );

    if (variant.cancellable !== null) {
      test.each([
        ['error-500', { kind: 'unknown', replied: true }, false],
        ['rate-limit', rateLimited, false],
        ['timeout', { kind: 'unknown', replied: false }, false],
        ['timeout-after-apply', { kind: 'unknown', replied: false }, true],
        ['reset', { kind: 'unknown', replied: false }, false],
        ['reset-after-apply', { kind: 'unknown', replied: false }, true],
        ['malformed', { kind: 'unknown', replied: true }, true],
        ['delay', { kind: 'cancelled' }, true],
      ])('classifies %s during a cancellation as %o', async (kind, result, cancels) => {
        const submission = submissionFor(await payment(variant.cancellable ?? {}));
        const reference = referenceOf(submission);
        const accepted = await processor.createRefund(submission, options);
        if (accepted.kind !== 'accepted') throw new Error(accepted.kind);
        await arm('refund.cancel', kind);
        const limits = kind.startsWith('timeout') ? shortly : options;
        expect(await processor.cancelRefund(accepted.refund.id, reference, limits)).toMatchObject(result);
        expect(await processor.getRefund(accepted.refund.id, reference, options)).toMatchObject({
          value: { state: cancels ? 'cancelled' : 'open' },
        });
      });
    }

    test('classifies a refused connection as unavailable, also for a submission', async () => {
      const gone = await startSandbox({ port: 0 });
      await gone.close();
      const refused = connect(variant.name, variant.credentials, gone.url);
      const submission = submissionFor(variant.ids.payment);
      const refundId = variant.ids.refund;
      const reference = referenceOf(submission);
      const answers: CallAnswer[] = [
        await refused.getPayment(submission.transactionId, options),
        await refused.createRefund(submission, options),
        await refused.findRefund(reference, options),
        await refused.getRefund(refundId, reference, options),
      ];
      if (variant.cancellable !== null)
        answers.push(await refused.cancelRefund(refundId, reference, options));
      expect(answers.map(({ kind }) => kind)).toEqual(answers.map(() => 'unavailable'));
    });

    test('classifies a host without an address as unavailable', async () => {
      const unreachable = connect(variant.name, variant.credentials, 'http://nowhere.invalid:80');
      const id = variant.ids.payment;
      expect(await unreachable.createRefund(submissionFor(id), options)).toMatchObject({
        kind: 'unavailable',
      });
    });
  });
}
