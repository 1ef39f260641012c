import { describe, expect, test } from 'vitest';
import type { ListedRefund, ProcessorRefundState } from '#shared/processors/contract/processor.ts';
import { compare, matchOf, type OurRefund } from '#shared/reconciliation/compare.ts';
import type { RefundStatus } from '#shared/refunds/model/states.ts';

const now = new Date('2026-11-21T12:00:00Z');
const soon = new Date('2026-11-21T12:00:30Z');
const before = new Date('2026-11-21T11:59:30Z');

/** A refund of unknown outcome, which a worker holds until then. */
const lostUntil = (leasedUntil: Date | null = null) => ({ unknownSince: before, leasedUntil });

function ours(changes: Partial<OurRefund> = {}): OurRefund {
  return {
    id: 'ref_1',
    idempotencyKey: null,
    transactionId: 'ch_1',
    externalRefundId: 're_1',
    amount: 2_500n,
    currency: 'usd',
    status: 'completed',
    work: null,
    ...changes,
  };
}

function theirs(changes: Partial<ListedRefund> = {}): ListedRefund {
  return {
    id: 're_1',
    amount: 2_500n,
    currency: 'usd',
    state: 'completed',
    processorStatus: 'their-word',
    refundId: 'ref_1',
    requestDigest: null,
    failure: null,
    transactionIds: ['ch_1', 'pi_1'],
    ...changes,
  };
}

describe('a refund on both sides', () => {
  const states: ProcessorRefundState[] = ['open', 'completed', 'failed', 'cancelled'];
  const verdicts: Record<Exclude<RefundStatus, 'pending'>, (string | null)[]> = {
    processing: [null, 'ended_there', 'ended_there', 'ended_there'],
    completed: [null, null, 'reversed_there', 'reversed_there'],
    failed: ['moved_after_end', 'moved_after_end', null, null],
    cancelled: ['moved_after_end', 'moved_after_end', null, null],
  };
  const cases = Object.entries(verdicts).flatMap(([status, kinds]) =>
    states.map((state, index) => [status as RefundStatus, state, kinds[index] ?? null] as const),
  );

  test.each(cases)('that is %s here and %s at the processor is %s', (status, state, kind) => {
    expect(compare(theirs({ state }), ours({ status }), now)?.kind ?? null).toBe(kind);
  });

  test.each(states)('of unknown outcome is found_there, also when it is %s', (state) => {
    const lost = ours({ status: 'processing', externalRefundId: null, work: lostUntil() });
    expect(compare(theirs({ state }), lost, now)?.kind).toBe('found_there');
  });

  test('that counts as not sent is found_there', () => {
    const unsent = ours({ status: 'processing', externalRefundId: null });
    expect(compare(theirs(), unsent, now)?.kind).toBe('found_there');
  });

  test('agrees while a worker holds it in processing, and no longer', () => {
    const sending = { status: 'processing', externalRefundId: null } as const;
    expect(compare(theirs(), ours({ ...sending, work: lostUntil(soon) }), now)).toBeNull();
    expect(compare(theirs(), ours({ ...sending, work: lostUntil(before) }), now)?.kind).toBe('found_there');
    expect(
      compare(theirs({ state: 'failed' }), ours({ work: { unknownSince: null, leasedUntil: soon } }), now)
        ?.kind,
    ).toBe('reversed_there');
  });

  test.each([
    ['a cent more', { amount: 2_501n }],
    ['a cent less', { amount: 2_499n }],
    ['another currency', { currency: 'eur' }],
  ])('with %s differs, unless nothing moved or it has failed here', (_, change) => {
    const expected = {
      processing: 'amount_differs',
      completed: 'amount_differs',
      failed: 'moved_after_end',
      cancelled: 'moved_after_end',
    } as const;
    for (const [status, kind] of Object.entries(expected)) {
      const found = compare(theirs(change), ours({ status: status as RefundStatus }), now);
      expect(found?.kind, status).toBe(kind);
    }
    expect(compare(theirs({ ...change, state: 'failed' }), ours(), now)?.kind).toBe('reversed_there');
    expect(compare(theirs({ ...change, state: 'failed' }), ours({ status: 'failed' }), now)).toBeNull();
  });

  test('under our name beside the one on record is extra_refund if it moved', () => {
    for (const status of ['processing', 'completed', 'failed', 'cancelled'] as const) {
      expect(compare(theirs({ id: 're_2' }), ours({ status }), now)?.kind, status).toBe('extra_refund');
      expect(compare(theirs({ id: 're_2', state: 'failed' }), ours({ status }), now), status).toBeNull();
    }
  });

  test('of one that awaits approval is extra_refund if it moved', () => {
    const pending = ours({ status: 'pending', externalRefundId: null });
    expect(compare(theirs(), pending, now)?.kind).toBe('extra_refund');
    expect(compare(theirs({ state: 'cancelled' }), pending, now)).toBeNull();
  });
});

describe('a refund that the processor does not have', () => {
  test.each([
    ['processing', 're_1', 'missing_there'],
    ['completed', 're_1', 'missing_there'],
    ['failed', 're_1', null],
    ['cancelled', 're_1', null],
    ['processing', null, null],
    ['failed', null, null],
  ] as const)('and that is %s here with the id %s is %s', (status, externalRefundId, kind) => {
    expect(compare(null, ours({ status, externalRefundId }), now)?.kind ?? null).toBe(kind);
  });
});

test('a discrepancy has both sides as facts', () => {
  const there = theirs({ amount: 2_501n, currency: 'eur', processorStatus: 'succeeded' });
  expect(compare(there, ours(), now)?.facts).toEqual({
    status: 'completed',
    expectedAmount: 2_500,
    expectedCurrency: 'usd',
    externalRefundId: 're_1',
    processorStatus: 'succeeded',
    amount: 2_501,
    currency: 'eur',
  });
  expect(compare(null, ours(), now)?.facts).toMatchObject({ status: 'completed', externalRefundId: 're_1' });
});

describe('a listed refund', () => {
  const other = ours({ id: 'ref_2', externalRefundId: 're_2' });

  test.each([
    ["the processor's id", theirs({ refundId: null }), [other, ours()], 'ref_1'],
    ["the processor's id before a name", theirs({ id: 're_2' }), [ours(), other], 'ref_2'],
    ['our name, while there is no id', theirs(), [ours({ externalRefundId: null })], 'ref_1'],
    ['our name, also beside another id', theirs({ id: 're_9' }), [other, ours()], 'ref_1'],
    ['the payment intent', theirs(), [ours({ transactionId: 'pi_1' })], 'ref_1'],
    ['nothing, for another payment', theirs(), [ours({ transactionId: 'ch_2' })], null],
    ['nothing, without a name', theirs({ id: 're_9', refundId: null }), [ours()], null],
  ])('is matched by %s', (_, listed, candidates, id) => {
    expect(matchOf(listed, candidates)?.id ?? null).toBe(id);
  });

  test('that is a voided payment is the refund of the whole amount of unknown outcome, and no other', () => {
    const voided = theirs({ id: 'sale', refundId: null, transactionIds: ['sale'] });
    const lost = { transactionId: 'sale', externalRefundId: null, work: lostUntil() } as const;
    const isMatch = (changes: Partial<OurRefund>) =>
      matchOf(voided, [ours({ ...lost, ...changes })]) !== null;
    expect(isMatch({})).toBe(true);
    expect(isMatch({ amount: 2_400n })).toBe(false);
    expect(isMatch({ currency: 'eur' })).toBe(false);
    expect(isMatch({ work: null })).toBe(false);
    expect(isMatch({ externalRefundId: 'credit' })).toBe(false);
    expect(isMatch({ transactionId: 'sale2' })).toBe(false);
    expect(
      matchOf(voided, [ours(), ours({ transactionId: 'sale', externalRefundId: 'sale' })]),
    ).not.toBeNull();
  });
});
