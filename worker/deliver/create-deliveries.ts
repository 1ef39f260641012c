import type { Dependencies } from '#shared/dependencies.ts';
import { createDeliveriesBetween } from './claim-deliveries.ts';
import type { WebhookSender } from './deliver-webhook.ts';

/** Positions of the feed whose events one statement takes, so that none takes long. */
const mostPositions = 200n;

/** Makes the deliveries of all new events, and starts those that may start. Several workers may do so at the same time. */
export async function createDeliveries(
  { db }: Pick<Dependencies, 'db'>,
  sender: Pick<WebhookSender, 'startUpTo'>,
  closing: AbortSignal,
): Promise<void> {
  let before = -1n;
  while (!closing.aborted) {
    // A statement of its own, because only one that begins later sees all events up to the settled position.
    const [feed] = await db.$queryRaw<{ reached: bigint; settled: bigint }[]>`
      SELECT position AS reached, settled_event_position() AS settled FROM webhook_cursor`;
    if (feed === undefined) throw new Error('webhook_cursor has no row');
    const { reached, settled } = feed;
    // Where it is as it was, another worker is making them.
    if (reached >= settled || reached === before) return;
    const upto = settled - reached > mostPositions ? reached + mostPositions : settled;
    await sender.startUpTo((most) => createDeliveriesBetween(db, { reached, upto, most }));
    if (upto === settled) return;
    before = reached;
  }
}
