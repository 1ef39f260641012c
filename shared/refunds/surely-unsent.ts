import { Prisma, type Refund } from '../db.ts';

// A refund that is surely not at its processor: no attempt of it was accepted or is of unknown fate, and nobody says that
// there is news of it. The same condition in the three forms in which it is asked.

/** For what has been loaded. */
export function isSurelyUnsent({
  externalRefundId,
  unknownSince,
  reviewDueAt,
}: Pick<Refund, 'externalRefundId' | 'unknownSince' | 'reviewDueAt'>): boolean {
  return externalRefundId === null && unknownSince === null && reviewDueAt === null;
}

/** As the guard of a transition. */
export const surelyUnsent = {
  externalRefundId: null,
  unknownSince: null,
  reviewDueAt: null,
} satisfies Prisma.RefundWhereInput;

/** As a condition on the row that a statement is about to change. */
export const surelyUnsentSql = Prisma.sql`
  external_refund_id IS NULL AND unknown_since IS NULL AND review_due_at IS NULL`;
