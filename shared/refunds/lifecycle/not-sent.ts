import type { DatabaseTransaction, Refund } from '../../platform/database.ts';

/** True when it is certain that the processor does not have the refund; see prisma/functions/refunds/is_not_sent.sql. */
export async function isNotSent(tx: DatabaseTransaction, { id }: Pick<Refund, 'id'>): Promise<boolean> {
  const [row] = await tx.$queryRaw<{ isNotSent: boolean }[]>`
    SELECT is_not_sent(r, w, s) AS "isNotSent"
    FROM refund AS r LEFT JOIN refund_work AS w ON w.refund_id = r.id JOIN recovery AS s ON s.id = 1 WHERE r.id = ${id}`;
  if (row === undefined) throw new Error(`No refund is stored as ${id}`);
  return row.isNotSent;
}
