import { describe, expect, test } from 'vitest';
import type { Refund } from '#shared/platform/database.ts';
import { afterBusinessDays, arrivalOf } from '#shared/refunds/model/arrival.ts';

test.each([
  ['a Monday', '2026-11-23T10:00:00Z', 1, '2026-11-24'],
  ['a Friday', '2026-11-27T10:00:00Z', 1, '2026-11-30'],
  ['a Friday, two weeks', '2026-11-27T10:00:00Z', 10, '2026-12-11'],
  ['a Saturday', '2026-11-28T10:00:00Z', 1, '2026-11-30'],
  ['a Sunday, two weeks', '2026-11-29T23:59:59Z', 10, '2026-12-11'],
  ['the end of a year', '2026-12-31T23:59:59Z', 2, '2027-01-04'],
])('business days after %s', (_what, from, count, expected) => {
  expect(afterBusinessDays(new Date(from), count)).toBe(expected);
});

type Given = Pick<Refund, 'status'> &
  Partial<Parameters<typeof arrivalOf>[0]> & { waitingFor?: string | null };

describe('the arrival of a refund', () => {
  const [monday, friday] = [new Date('2026-11-23T10:00:00Z'), new Date('2026-11-27T10:00:00Z')];
  const known = { reference: '74', referenceType: 'acquirer_reference_number' };

  test.each([
    ['sent', { status: 'processing', acceptedAt: monday }, { expectedBy: '2026-12-07', reference: null }],
    [
      'completed',
      { status: 'completed', acceptedAt: monday, completedAt: friday, arrival: known },
      { expectedBy: '2026-12-11', ...known },
    ],
    [
      'waiting for the customer',
      { status: 'processing', processorStatus: 'requires_action', acceptedAt: monday },
      { kind: 'credit', expectedBy: null },
    ],
    ...(['customer_action', 'insufficient_balance', 'payment_unsettled'] as const).map(
      (waitingFor) =>
        [
          `held at the processor (${waitingFor})`,
          { status: 'processing', acceptedAt: monday, waitingFor },
          { kind: 'credit', expectedBy: null },
        ] as const,
    ),
    [
      'read in vain at last',
      { status: 'processing', acceptedAt: monday, waitingFor: 'processor_unreachable' },
      { expectedBy: '2026-12-07' },
    ],
    [
      'sent as a reversal',
      { status: 'completed', acceptedAt: monday, completedAt: friday, arrival: { kind: 'reversal' } },
      { kind: 'reversal', expectedBy: null },
    ],
    ['not sent yet', { status: 'processing' }, null],
    ['awaiting approval', { status: 'pending' }, null],
    ['reversed', { status: 'failed', acceptedAt: monday, completedAt: friday, arrival: known }, null],
    ['cancelled', { status: 'cancelled', acceptedAt: monday }, null],
  ] as const)('that is %s', (_what, { waitingFor = null, ...refund }: Given, expected) => {
    const none = { processorStatus: null, acceptedAt: null, completedAt: null, arrival: null };
    const found = arrivalOf({ ...none, ...refund }, waitingFor);
    if (expected === null) expect(found).toBeNull();
    else expect(found).toMatchObject(expected);
  });
});
