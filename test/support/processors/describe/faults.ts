import { describe, expect, onTestFinished, test, vi } from 'vitest';
import type { UnavailableCause } from '#shared/processors/contract/processor.ts';
import { freePort } from '../../processes/free-port.ts';
import { submissionFor } from '../../refunds/refund-records.ts';
import { waitFor } from '../../wait-for.ts';
import { connect, options, type ProcessorVariant, useProcessor } from '../processor-variants.ts';

/** Why a read that meets a fault has no answer, where that is not `unreachable`. */
export const causes: Readonly<Record<string, UnavailableCause>> = {
  'rate-limit': 'rate_limited',
  malformed: 'unreadable',
};

/** What each call answers when the processor or the network fails. */
export function describeFaults(variant: ProcessorVariant): void {
  describe(`faults of a processor: ${variant.title}`, () => {
    const { knowsKeys, operations, cancellable } = variant;
    const { control, processor, payment, refunded, everyCall, moved } = useProcessor(variant);

    /** Makes a call that meets the fault. When the processor stays silent, the time of the call is over then. */
    const meet = async <Answer>(operation: string, kind: string, call: () => Promise<Answer>) => {
      const isSilent = kind.startsWith('timeout');
      const held = isSilent ? { delayMs: 2 * options.timeoutMs } : {};
      await control.fault({ processor: variant.name, operation, kind, ...held });
      if (!isSilent) return await call();
      vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
      onTestFinished(() => void vi.useRealTimers());
      const answer = call();
      await waitFor('the fault to be met', async () => (await control.faults()).length === 0);
      vi.advanceTimersByTime(options.timeoutMs);
      vi.useRealTimers();
      return await answer;
    };

    const rateLimited = { kind: 'unavailable', cause: 'rate_limited', retryAfterMs: null };
    const unknown = { kind: 'unknown' };

    test.each([
      ['error-403', { kind: 'misconfigured' }, false],
      ['error-500', unknown, false],
      ['error-500-after-apply', unknown, true],
      ['error-503', unknown, false],
      ['rate-limit', rateLimited, false],
      ['timeout', unknown, false],
      ['timeout-after-apply', unknown, true],
      ['reset', unknown, false],
      ['reset-after-apply', unknown, true],
      ['malformed', unknown, true],
      ['delay', { kind: 'accepted' }, true],
    ])('classifies %s during a submission as %o', async (kind, result, moves) => {
      const id = await payment();
      const submission = submissionFor(id);
      const answer = await meet('refund.create', kind, () => processor.createRefund(submission, options));
      expect(answer).toMatchObject(result);
      expect(await moved(id)).toHaveLength(moves ? 1 : 0);
      const lookup = await processor.findRefund(submission, options);
      expect(lookup.kind).toBe(moves ? 'found' : 'not-found');
      // Stripe repeats a 500 for ever.
      if (kind === 'error-500-after-apply') return;
      expect(await processor.createRefund(submission, options)).toMatchObject({ kind: 'accepted' });
      expect(await moved(id)).toHaveLength(moves && !knowsKeys ? 2 : 1);
    });

    test.each(['error-500', 'error-503', 'rate-limit', 'timeout', 'reset', 'malformed'])(
      '%s during a read is unavailable, never an answer',
      async (kind) => {
        const { transactionId, submission, refund } = await refunded();
        const expected = { kind: 'unavailable', cause: causes[kind] ?? 'unreachable' };
        for (const operation of ['transaction.get', operations.refundsOfPayment]) {
          const answer = await meet(operation, kind, () => processor.getPayment(transactionId, options));
          expect(answer).toMatchObject(expected);
        }
        const lookUp = () => processor.findRefund(submission, options);
        expect(await meet(operations.lookup, kind, lookUp)).toMatchObject(expected);
        const read = () => processor.getRefund(refund.id, submission, options);
        expect(await meet('refund.get', kind, read)).toMatchObject(expected);
      },
    );

    test.each([
      ['error-500', unknown, false],
      ['rate-limit', rateLimited, false],
      ['timeout', unknown, false],
      ['timeout-after-apply', unknown, true],
      ['reset', unknown, false],
      ['reset-after-apply', unknown, true],
      ['malformed', unknown, true],
      ['delay', { kind: 'cancelled' }, true],
    ])('classifies %s during a cancellation as %o', async (kind, result, cancels) => {
      const { submission, refund } = await refunded(cancellable);
      const cancel = () => processor.cancelRefund(refund.id, submission, options);
      expect(await meet('refund.cancel', kind, cancel)).toMatchObject(result);
      const read = await processor.getRefund(refund.id, submission, options);
      expect(read).toMatchObject({ value: { state: cancels ? 'cancelled' : 'open' } });
    });

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
