import type { PlatformDependencies } from '../../shared/platform/dependencies.ts';

/** Positions of the feed whose events one statement takes, so that none takes long. */
const mostPositions = 200;

/**
 * Makes the deliveries of all new events, and enqueues those that may start. Several workers may do so at the same time.
 * prisma/functions/deliveries/create_deliveries.sql says which endpoint gets which event.
 */
export async function createDeliveries(
  { db, queues }: Pick<PlatformDependencies, 'db' | 'queues'>,
  closing: AbortSignal,
): Promise<void> {
  while (!closing.aborted) {
    const [created] = await db.$queryRaw<{ has_more: boolean; to_enqueue: string[] }[]>`
      SELECT * FROM create_deliveries(${mostPositions}::int)`;
    for (const id of created?.to_enqueue ?? []) queues.enqueueDelivery(id);
    if (created?.has_more !== true) return;
  }
}
