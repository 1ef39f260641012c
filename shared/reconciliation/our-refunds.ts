import type { Database, Prisma, ProcessorAccount, Refund } from '../platform/database.ts';
import type { ListedRefund, RefundWindow } from '../processors/contract/processor.ts';
import type { RefundWithWork } from '../refunds/model/refund.ts';

type Account = Pick<ProcessorAccount, 'organizationId' | 'environment' | 'processor'>;

const batchSize = 200;

/** Refunds of the account that may be the listed ones: by the processor's id, by our name, or by a voided payment. */
export async function findCandidates(
  db: Database,
  account: Account,
  theirs: readonly ListedRefund[],
): Promise<RefundWithWork[]> {
  const voids = theirs.filter(({ id, transactionIds }) => transactionIds.includes(id)).map(({ id }) => id);
  return await db.refund.findMany({
    where: {
      ...scopeOf(account),
      OR: [
        { externalRefundId: { in: theirs.map(({ id }) => id) } },
        { id: { in: theirs.flatMap(({ refundId }) => refundId ?? []) } },
        { paymentId: { in: voids }, externalRefundId: null, work: { unknownSince: { not: null } } },
      ],
    },
    include: { work: true },
  });
}

/** The ids of payments that are on record for the account, each with the id of the row that holds the payment. */
export async function findRecordedPayments(
  db: Database,
  account: Account,
  transactionIds: readonly string[],
): Promise<Map<string, string>> {
  const rows = await db.payment.findMany({
    where: { ...scopeOf(account), transactionId: { in: [...transactionIds] } },
    select: { transactionId: true, aliasOf: true },
  });
  return new Map(rows.map(({ transactionId, aliasOf }) => [transactionId, aliasOf ?? transactionId]));
}

/** The account's refunds that the processor accepted in a window and should still have, in batches. */
export async function* acceptedWithin(
  db: Database,
  account: Account,
  { from, to }: RefundWindow,
): AsyncGenerator<Refund[]> {
  let last: Refund | undefined;
  for (;;) {
    const batch: Refund[] = await db.refund.findMany({
      where: {
        ...scopeOf(account),
        externalRefundId: { not: null },
        acceptedAt: { gte: from, lt: to },
        status: { in: ['processing', 'completed'] },
        ...(last === undefined ? {} : after(last)),
      },
      orderBy: [{ externalRefundId: 'asc' }, { id: 'asc' }],
      take: batchSize,
    });
    yield batch;
    last = batch.at(-1);
    if (batch.length < batchSize) return;
  }
}

/** What follows a refund in the order of the index, even if that refund has left the list meanwhile. */
function after({ externalRefundId, id }: Refund): Prisma.RefundWhereInput {
  return { OR: [{ externalRefundId: { gt: externalRefundId ?? '' } }, { externalRefundId, id: { gt: id } }] };
}

function scopeOf({ organizationId, environment, processor }: Account): Account {
  return { organizationId, environment, processor };
}
