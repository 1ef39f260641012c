import { failingMinutes } from '../notifications/occasions.ts';
import type { Database } from '../platform/database.ts';
import type { RefundOwner } from '../refunds/model/refund.ts';
import { ownerSql } from '../refunds/queries/refund-filter.ts';

/** A webhook endpoint, or the channel of notifications, that has accepted nothing for an hour, or a channel whose URL is gone. */
export interface FailingReceiver {
  kind: 'endpoint' | 'channel' | 'gone channel';
  id: string;
  /** The endpoint's URL, or the host of the channel. */
  address: string;
  since: Date;
}

/** Those of an owner, the longest failing first. */
export async function findFailingReceivers(db: Database, owner: RefundOwner): Promise<FailingReceiver[]> {
  return await db.$queryRaw<FailingReceiver[]>`
    SELECT each.* FROM (
      SELECT 'endpoint' AS kind, id, url AS address, failing_since AS since FROM webhook_endpoint
      WHERE ${ownerSql(owner)} AND status = 'enabled' AND deleted_at IS NULL
      UNION ALL
      SELECT 'channel', id, host, failing_since FROM notification_channel WHERE ${ownerSql(owner)}
      UNION ALL
      SELECT 'gone channel', id, host, gone_at FROM notification_channel WHERE ${ownerSql(owner)}) AS each
    WHERE each.since <= service_time() - CASE each.kind WHEN 'gone channel' THEN 0 ELSE ${failingMinutes} END * interval '1 minute'
    ORDER BY each.since, each.id`;
}
