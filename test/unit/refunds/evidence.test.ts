import { describe, expect, test } from 'vitest';
import {
  contradictionOf,
  type Evidence,
  type ResolvedStatus,
  resolvedStatuses,
} from '#shared/refunds/decisions/evidence.ts';

describe('evidence about a refund of 25.00 USD', () => {
  const refund = { id: 'ref_1', amount: 2_500n, currency: 'usd' };
  const found = (state: 'open' | 'completed' | 'failed' | 'cancelled', more = {}): Evidence => ({
    kind: 'found',
    refund: {
      id: 're_1',
      amount: 2_500n,
      currency: 'usd',
      state,
      processorStatus: state,
      refundId: 'ref_1',
      requestDigest: null,
      failure: null,
      ...more,
    },
  });
  const absent: Evidence = { kind: 'absent', message: 'absent' };
  const unclear: Evidence = { kind: 'unclear', message: 'unclear' };

  test.each<[string, Evidence, ResolvedStatus[]]>([
    ['open there', found('open'), []],
    ['completed there', found('completed'), ['completed']],
    ['completed there, without our name', found('completed', { refundId: null }), ['completed']],
    [
      "completed there, under the shop's own name",
      found('completed', { refundId: 'order-1' }),
      ['completed'],
    ],
    ['completed there, of another refund', found('completed', { refundId: 'ref_2' }), []],
    ['completed there, another amount', found('completed', { amount: 2_400n }), []],
    ['completed there, another currency', found('completed', { currency: 'eur' }), []],
    ['failed there', found('failed'), ['failed', 'cancelled']],
    ['cancelled there', found('cancelled'), ['failed', 'cancelled']],
    ['absent there', absent, ['failed', 'cancelled']],
    ['unclear', unclear, []],
  ])('that is %s allows these statuses without force', (_title, evidence, allowed) => {
    expect(resolvedStatuses.filter((status) => contradictionOf(refund, status, evidence) === null)).toEqual(
      allowed,
    );
  });
});
