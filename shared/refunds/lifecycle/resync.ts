import type { DatabaseTransaction, Refund } from '../../platform/database.ts';

/**
 * Has a refund read again from its processor as soon as a worker can; prisma/functions/request_resync.sql says how.
 * @param tx the caller's database transaction; the caller wakes a worker after its commit.
 * @returns false for a refund that awaits approval: it has never been at the processor.
 */
export async function requestResync(tx: DatabaseTransaction, { id }: Pick<Refund, 'id'>): Promise<boolean> {
  const [row] = await tx.$queryRaw<{ requested: boolean }[]>`SELECT request_resync(${id}) AS requested`;
  return row?.requested ?? false;
}
