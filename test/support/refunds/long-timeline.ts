import type { TestService } from '../service.ts';

/** Adds entries to a refund's timeline until it has this many. */
export async function lengthenTimeline(
  { deps }: Pick<TestService, 'deps'>,
  refundId: string,
  entries: number,
): Promise<void> {
  await deps.db.$executeRaw`
    INSERT INTO refund_event (id, refund_id, seq, type, actor, status, detail, created_at)
    SELECT concat('evt_', seq, r.id), r.id, seq, 'metadata.changed', 'worker', r.status, '{"message": "order"}', r.updated_at
    FROM refund AS r
    CROSS JOIN generate_series((SELECT max(seq) FROM refund_event WHERE refund_id = ${refundId}) + 1, ${entries}::int) AS seq
    WHERE r.id = ${refundId}`;
}
