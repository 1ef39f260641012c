import { expect, test } from 'vitest';
import type { Refund } from '#shared/platform/database.ts';
import { fromRow, type Readers, refundFrom } from '#shared/refunds/model/rows.ts';

test('reads the columns of a refund that JSON has no type for as the database client does', () => {
  const row = { id: 'ref_1', amount: 500, payment_id: 7, fingerprint: '\\x00ff', held_until: null };
  expect(refundFrom({ ...row, created_at: '2026-11-24T12:00:00.123+00:00' })).toEqual({
    ...{ id: 'ref_1', amount: 500n, paymentId: 7n, fingerprint: Buffer.of(0, 255), heldUntil: null },
    createdAt: new Date('2026-11-24T12:00:00.123Z'),
  });
});

test('a new column of a type that JSON does not have does not compile without its reader', () => {
  type Extended = Refund & { fee: bigint | null };
  const readers = {} as Readers<Refund>;
  // @ts-expect-error: a fee would become a number.
  const read = () => fromRow<Extended>({ fee: 1 }, readers);
  expect(read()).toEqual({ fee: 1 });
});
