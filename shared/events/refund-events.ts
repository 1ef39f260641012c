import type { Reads } from '../platform/database.ts';
import { isRefundId, type RefundOwner } from '../refunds/model/refund.ts';
import { refundNotFound } from '../refunds/queries/find-refunds.ts';
import { eventColumns, type PublicEvent, type ReadEvent, toPublicEvent } from './event.ts';

/**
 * The public events of one refund, oldest first.
 * @throws ServiceError not_found for an id that is unknown, malformed or another owner's, all alike.
 */
export async function readRefundEvents(
  reads: Reads,
  { organizationId, environment }: RefundOwner,
  refundId: string,
): Promise<PublicEvent[]> {
  const rows = isRefundId(refundId)
    ? await reads.query<ReadEvent>(
        // By the primary key alone, so that the planner cannot choose another index. The events of another owner's refund are not read, so that
        // the response takes as long as for an unknown id.
        `SELECT ${eventColumns} FROM refund AS r
         CROSS JOIN LATERAL (SELECT * FROM refund_event WHERE refund_id = r.id AND position IS NOT NULL OFFSET 0) AS e
         WHERE r.id = $1 AND r.organization_id IS NOT DISTINCT FROM $2 AND r.environment IS NOT DISTINCT FROM $3::environment
         ORDER BY e.seq`,
        [refundId, organizationId, environment],
      )
    : [];
  // Every refund has at least one event.
  if (rows.length === 0) throw refundNotFound();
  return rows.map(toPublicEvent);
}
