import { describe, expect, test } from 'vitest';
import { freePort } from '../../processes/free-port.ts';
import { submissionFor } from '../../refunds/refund-records.ts';
import { connect, options, type ProcessorVariant, useProcessor } from '../processor-variants.ts';

/** For calls that are to run out of time; the sandbox holds them longer than that. */
const shortly = { timeoutMs: 800 };
const holdMs = 2_000;

/** What each call answers when the processor or the network fails. */
export function describeFaults(variant: ProcessorVariant): void {
  describe(`faults of a processor: ${variant.title}`, () => {
    const { findsRefunds, readsRefunds } = variant.capabilities;
    const { knowsKeys, operations, cancellable } = variant;
    const { control, processor, payment, refunded, everyCall, moved } = useProcessor(variant);

    /** Arms the fault. @returns the limits of a call that meets it. */
    const arm = async (operation: string, kind: string) => {
      const isSilent = kind.startsWith('timeout');
      const held = isSilent ? { delayMs: holdMs } : {};
      await control.fault({ processor: variant.name, operation, kind, ...held });
      return isSilent ? shortly : options;
    };

    const rateLimited = { kind: 'unavailable', rateLimited: true, retryAfterMs: variant.retryAfterMs };
    const lost = { kind: 'unknown', replied: false };
    const failed = { kind: 'unknown', replied: true };

    test.each([
      ['error-403', { kind: 'misconfigured' }, false],
      ['error-500', failed, false],
      ['error-500-after-apply', failed, true],
      ['error-503', { kind: 'unknown', replied: variant.repliesWith503 }, false],
      ['rate-limit', rateLimited, false],
      ['timeout', lost, false],
      ['timeout-after-apply', lost, true],
      ['reset', lost, false],
      ['reset-after-apply', lost, true],
      ['malformed', failed, true],
      ['delay', { kind: 'accepted' }, true],
    ])('classifies %s during a submission as %o', async (kind, result, moves) => {
      const id = await payment();
      const submission = submissionFor(id);
      const limits = await arm('refund.create', kind);
      expect(await processor.createRefund(submission, limits)).toMatchObject(result);
      expect(await moved(id)).toHaveLength(moves ? 1 : 0);
      if (findsRefunds) {
        const lookup = await processor.findRefund(submission, options);
        expect(lookup.kind).toBe(moves ? 'found' : 'not-found');
      }
      // Stripe repeats a 500 for ever.
      if (kind === 'error-500-after-apply') return;
      expect(await processor.createRefund(submission, options)).toMatchObject({ kind: 'accepted' });
      expect(await moved(id)).toHaveLength(moves && !knowsKeys ? 2 : 1);
    });

    test.each(['error-500', 'error-503', 'rate-limit', 'timeout', 'reset', 'malformed'])(
      '%s during a read is unavailable, never an answer',
      async (kind) => {
        const { transactionId, submission, refund } = await refunded();
        const expected = { kind: 'unavailable', rateLimited: kind === 'rate-limit' };
        for (const operation of ['transaction.get', operations.refundsOfPayment]) {
          const limits = await arm(operation, kind);
          expect(await processor.getPayment(transactionId, limits)).toMatchObject(expected);
        }
        if (findsRefunds) {
          const limits = await arm(operations.lookup, kind);
          expect(await processor.findRefund(submission, limits)).toMatchObject(expected);
        }
        if (readsRefunds) {
          const limits = await arm('refund.get', kind);
          expect(await processor.getRefund(refund.id, submission, limits)).toMatchObject(expected);
        }
      },
    );

    if (cancellable !== null) {
      test.each([
        ['error-500', failed, false],
        ['rate-limit', rateLimited, false],
        ['timeout', lost, false],
        ['timeout-after-apply', lost, true],
        ['reset', lost, false],
        ['reset-after-apply', lost, true],
        ['malformed', failed, true],
        ['delay', { kind: 'cancelled' }, true],
      ])('classifies %s during a cancellation as %o', async (kind, result, cancels) => {
        const { submission, refund } = await refunded(cancellable);
        const limits = await arm('refund.cancel', kind);
        expect(await processor.cancelRefund(refund.id, submission, limits)).toMatchObject(result);
        const read = await processor.getRefund(refund.id, submission, options);
        expect(read).toMatchObject({ value: { state: cancels ? 'cancelled' : 'open' } });
      });
    }

    test('sends nothing when the time was over before the call', async () => {
      const id = await payment();
      const late = { timeoutMs: 600, since: performance.now() - 601 };
      const answer = await processor.createRefund(submissionFor(id), late);
      expect(answer).toMatchObject({ failure: { code: 'timeout' } });
      expect(await moved(id)).toEqual([]);
    });

    test.each([
      ['refused', async () => `http://127.0.0.1:${await freePort()}`],
      ['without an address', async () => 'http://nowhere.invalid:80'],
    ])('classifies a connection that is %s as unavailable, also for a submission', async (_what, urlOf) => {
      const unreachable = connect(variant.name, variant.credentials, await urlOf());
      const answers = await everyCall(unreachable, variant.ids.payment);
      expect(answers.map(({ kind }) => kind)).toEqual(answers.map(() => 'unavailable'));
    });
  });
}
