import { type Database, Prisma, type ProcessorAccount, type Refund } from '../platform/database.ts';
import type { ListedRefund, ListingWindow } from '../processors/contract/processor.ts';
import type { RefundWithWork } from '../refunds/model/refund.ts';
import { findOfAccount } from '../refunds/queries/find-refunds.ts';
import { ofAccountSql } from '../refunds/queries/refund-filter.ts';

type Account = Pick<ProcessorAccount, 'id' | 'organizationId' | 'environment' | 'parentId'>;

const batchSize = 200;

/** Refunds of the account that may be the listed ones: by the processor's id, by a name of ours, or by a voided payment. */
export async function findCandidates(
  db: Database,
  account: Account,
  theirs: readonly ListedRefund[],
): Promise<RefundWithWork[]> {
  const { organizationId, environment } = account;
  const voids = theirs.filter(({ id, transactionIds }) => transactionIds.includes(id)).map(({ id }) => id);
  const voided = await findPaymentIds(db, account, voids);
  // Each is a statement with an index of its own.
  const found = await Promise.all(
    [
      { externalRefundId: { in: theirs.map(({ id }) => id) } },
      { id: { in: theirs.flatMap(({ refundId }) => refundId ?? []) } },
      {
        ...{ organizationId, environment },
        idempotencyKey: { in: theirs.flatMap(({ requestDigest }) => requestDigest ?? []) },
      },
      {
        paymentId: { in: [...voided.values()] },
        ...{ externalRefundId: null, work: { unknownSince: { not: null } } },
      },
    ].map((byIds) => findOfAccount(db, account.id, byIds)),
  );
  return [...new Map(found.flat().map((refund) => [refund.id, refund])).values()];
}

/** The payments that are on record for the account under these ids, by these ids. */
export async function findPaymentIds(
  db: Database,
  { id: accountId }: Pick<Account, 'id'>,
  transactionIds: readonly string[],
): Promise<Map<string, bigint>> {
  const names = await db.paymentName.findMany({
    where: { accountId, name: { in: [...transactionIds] } },
  });
  return new Map(names.map(({ name, paymentId }) => [name, paymentId]));
}

/** The ids in the names of listed refunds that any refund on record has. */
export async function findRecordedIds(db: Database, theirs: readonly ListedRefund[]): Promise<Set<string>> {
  const found = await db.refund.findMany({
    where: { id: { in: theirs.flatMap(({ refundId }) => refundId ?? []) } },
    select: { id: true },
  });
  return new Set(found.map(({ id }) => id));
}

/** Transaction ids of the account's refunds that await approval. */
export async function findPaymentsAwaitingApproval(db: Database, account: Account): Promise<string[]> {
  // The status is a literal, because a parameter would not match the index of all but those that have completed.
  const waiting = await db.$queryRaw<{ transactionId: string }[]>`
    SELECT DISTINCT ON (payment_id) transaction_id AS "transactionId" FROM refund
    WHERE ${ofAccountSql(account)} AND status = 'pending'`;
  return waiting.map(({ transactionId }) => transactionId);
}

/** The account's refunds that the processor accepted in a window, or completed in it long after, and should still have; in batches. */
export async function* sentWithin(
  db: Database,
  account: Account,
  { from, to }: ListingWindow,
): AsyncGenerator<Refund[]> {
  const kept = Prisma.sql`${ofAccountSql(account)}
    AND external_refund_id IS NOT NULL AND status IN ('processing', 'completed')`;
  const { soon, late } = acceptedWithinSql({ from, to });
  yield* batchesOf(db, Prisma.sql`${kept} AND ${soon}`, Prisma.sql`created_at`);
  yield* batchesOf(db, Prisma.sql`${kept} AND ${late}`, Prisma.sql`accepted_at`);
  // The money may come back within about a month of the completion. These are in refund_completed_late.
  const completedLate = Prisma.sql`completed_at >= ${from} AND completed_at < ${to} AND accepted_at < ${from}
    AND completed_at - accepted_at > interval '7 days'`;
  yield* batchesOf(db, Prisma.sql`${kept} AND ${completedLate}`, Prisma.sql`completed_at`);
}

/**
 * The refunds that a processor accepted in a window, in two conditions that exclude each other: most are accepted soon after their
 * creation; the others have an index of their own, refund_accepted_late.
 */
export function acceptedWithinSql({ from, to }: ListingWindow): Record<'soon' | 'late', Prisma.Sql> {
  const inWindow = Prisma.sql`accepted_at >= ${from} AND accepted_at < ${to}`;
  const dayBefore = Prisma.sql`${from}::timestamptz - interval '1 day'`;
  return {
    soon: Prisma.sql`${inWindow} AND created_at >= ${dayBefore} AND created_at < ${to}`,
    late: Prisma.sql`${inWindow} AND created_at < ${dayBefore} AND accepted_at - created_at > interval '1 day'`,
  };
}

/** The refunds that a condition finds, in the order of a time that an index has. */
async function* batchesOf(db: Database, condition: Prisma.Sql, time: Prisma.Sql): AsyncGenerator<Refund[]> {
  let after = Prisma.empty;
  for (;;) {
    const found = await db.$queryRaw<{ id: string; at: Date }[]>`
      SELECT id, ${time} AS at FROM refund WHERE ${condition} ${after} ORDER BY ${time}, id LIMIT ${batchSize}`;
    yield await db.refund.findMany({ where: { id: { in: found.map(({ id }) => id) } } });
    const last = found.at(-1);
    if (last === undefined || found.length < batchSize) return;
    after = Prisma.sql`AND (${time}, id) > (${last.at}::timestamptz, ${last.id})`;
  }
}
