import type { DatabaseTransaction, Refund } from '../../platform/database.ts';

/**
 * Requests that a worker reads a refund again from its processor; see prisma/functions/refunds/request_resync.sql.
 * @param tx the caller's database transaction; the caller enqueues the refund after the commit.
 * @returns false for a refund that awaits approval: it has never been at the processor.
 */
export async function requestResync(tx: DatabaseTransaction, { id }: Pick<Refund, 'id'>): Promise<boolean> {
  const [row] = await tx.$queryRaw<{ requested: boolean }[]>`SELECT request_resync(${id}) AS requested`;
  return row?.requested ?? false;
}
