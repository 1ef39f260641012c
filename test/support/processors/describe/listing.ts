import { describe, expect, test } from 'vitest';
import type { ListedRefund, ListingWindow, Processor } from '#shared/processors/contract/processor.ts';
import { submissionFor } from '../../refunds/refund-records.ts';
import { connect, options, type ProcessorVariant, useProcessor } from '../processor-variants.ts';
import { causes } from './faults.ts';

/** All refunds that a processor lists for a window, and the number of pages. */
export async function listAll(
  processor: Pick<Processor, 'listRefunds'>,
  window: ListingWindow,
): Promise<{ refunds: ListedRefund[]; pageCount: number }> {
  const refunds: ListedRefund[] = [];
  let answer = await processor.listRefunds(window, options);
  for (let pageCount = 1; ; pageCount += 1) {
    if (answer.kind !== 'found') throw new Error(`${answer.kind}: ${answer.failure.message}`);
    refunds.push(...answer.value.refunds);
    if (answer.value.next === null) return { refunds, pageCount };
    answer = await answer.value.next(options);
  }
}

/** From so many minutes ago to so many minutes from now. */
export function windowAroundNow(minutes: number): ListingWindow {
  const now = Date.now();
  return { from: new Date(now - minutes * 60_000), to: new Date(now + minutes * 60_000) };
}

/** The list of all refunds of an account. */
export function describeListing(variant: ProcessorVariant): void {
  describe(`the list of all refunds: ${variant.title}`, () => {
    const { sandbox, control, processor, payment, refunded, moved } = useProcessor(variant);

    test('has the payment, amount, state and our id of each refund', async () => {
      const open = await refunded();
      const failed = await refunded();
      await control.driveRefund(failed.refund.id, { status: variant.statuses.failed });
      const { refunds } = await listAll(processor, windowAroundNow(5));
      expect(refunds.find(({ id }) => id === open.refund.id)).toEqual({
        ...open.refund,
        transactionIds: expect.arrayContaining([open.transactionId]),
      });
      expect(refunds.find(({ id }) => id === failed.refund.id)).toMatchObject({
        state: 'failed',
        failure: { message: expect.stringMatching(/\w/) },
      });
    });

    test('is complete and without repeats over more than two pages, whichever could not be read at first', async () => {
      const id = await payment();
      const refund = () => processor.createRefund(submissionFor(id, { amount: 1n }), options);
      for (let count = 0; count < 210; count += 10) await Promise.all(Array.from({ length: 10 }, refund));
      const made = (await moved(id)).map((each) => each.id);
      const { refunds, pageCount } = await listAll(processor, windowAroundNow(5));
      const listed = refunds.map(({ id }) => id);
      expect(made).toHaveLength(210);
      expect(pageCount).toBeGreaterThan(2);
      expect(listed).toEqual(expect.arrayContaining(made));
      expect(new Set(listed).size).toBe(listed.length);

      const first = await processor.listRefunds(windowAroundNow(5), options);
      if (first.kind !== 'found' || first.value.next === null) throw new Error('There is one page only.');
      const { next } = first.value;
      for (const kind of ['rate-limit', 'malformed']) {
        await control.fault({ processor: variant.name, operation: 'refund.list', kind });
        const unavailable = { kind: 'unavailable', cause: causes[kind] ?? 'unreachable' };
        expect(await next(options)).toMatchObject(unavailable);
      }
      const rest = await listAll({ listRefunds: (_, callOptions) => next(callOptions) }, windowAroundNow(5));
      expect([...first.value.refunds, ...rest.refunds].map(({ id }) => id)).toEqual(listed);
    });

    test('includes the first second of the window and excludes its end', async () => {
      const { transactionId, refund } = await refunded();
      const [row] = await moved(transactionId);
      const second = Math.floor(Date.parse(row?.createdAt ?? '') / 1000) * 1000;
      const at = async (from: number, to: number) => {
        const { refunds } = await listAll(processor, { from: new Date(from), to: new Date(to) });
        return refunds.some(({ id }) => id === refund.id);
      };
      expect(await at(second, second + 1_000)).toBe(true);
      expect(await at(second + 1_000, second + 60_000)).toBe(false);
      expect(await at(second - 60_000, second)).toBe(false);
    });

    test('fails with wrong credentials and is empty without refunds', async () => {
      const wrong = connect(variant.name, variant.wrongCredentials, sandbox.url);
      expect(await wrong.listRefunds(windowAroundNow(5), options)).toMatchObject({ kind: 'misconfigured' });
      const longAgo = { from: new Date('2020-01-01T00:00:00Z'), to: new Date('2020-02-01T00:00:00Z') };
      expect(await listAll(processor, longAgo)).toMatchObject({ refunds: [] });
    });
  });
}
