import type { Database } from '../platform/database.ts';
import type { ListingWindow } from '../processors/contract/processor.ts';
import type { RefundOwner } from '../refunds/model/refund.ts';
import { ownerSql } from '../refunds/queries/refund-filter.ts';
import { acceptedWithinSql } from './our-refunds.ts';

/** How many refunds, and their sum in minor units. */
export interface Total {
  count: number;
  amount: bigint;
}

/** The refunds of a currency that a processor accepted in a window on an account, as they are now. */
export interface ReportRow {
  currency: string;
  processor: string;
  /** The name of the account. */
  account: string;
  completed: Total;
  /** Accepted, and not settled yet. */
  processing: Total;
  /** Completed and processing: what reconciliation compares with the processor's list of the same window. */
  sent: Total;
  /** Failed or cancelled after they were accepted, also those that completed before. */
  ended: Total;
}

/** The totals of a window per currency, processor and account. Reads every refund that was created in it. */
export async function readReport(
  db: Database,
  owner: RefundOwner,
  window: ListingWindow,
): Promise<ReportRow[]> {
  const { soon, late } = acceptedWithinSql(window);
  const found = await db.$queryRaw<FoundRow[]>`
    SELECT totals.*, account.name AS account FROM (
      SELECT account_id, currency, processor, status, count(*)::int AS count, sum(amount)::bigint AS amount
      FROM (SELECT * FROM refund WHERE ${ownerSql(owner)} AND ${soon}
        UNION ALL SELECT * FROM refund WHERE ${ownerSql(owner)} AND ${late}) AS accepted
      GROUP BY account_id, currency, processor, status) AS totals
    JOIN processor_account AS account ON account.id = totals.account_id
    ORDER BY currency, processor, account.name, account_id, status`;
  const keyOf = ({ currency, account_id }: FoundRow) => `${currency} ${account_id}`;
  return [...new Set(found.map(keyOf))].map((key) => rowOf(found.filter((row) => keyOf(row) === key)));
}

type FoundRow = Pick<ReportRow, 'currency' | 'processor' | 'account'> &
  Total & { account_id: string; status: string };

function rowOf(found: readonly FoundRow[]): ReportRow {
  const totalOf = (...statuses: string[]): Total => {
    const counted = found.filter(({ status }) => statuses.includes(status));
    return {
      count: counted.reduce((sum, { count }) => sum + count, 0),
      amount: counted.reduce((sum, { amount }) => sum + amount, 0n),
    };
  };
  const [{ currency, processor, account }] = found as [FoundRow];
  return {
    ...{ currency, processor, account },
    completed: totalOf('completed'),
    processing: totalOf('processing'),
    sent: totalOf('completed', 'processing'),
    ended: totalOf('failed', 'cancelled'),
  };
}
