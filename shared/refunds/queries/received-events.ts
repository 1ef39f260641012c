import type { Position } from '../../platform/cursor.ts';
import { type Database, Prisma } from '../../platform/database.ts';
import type { RefundOwner } from '../model/refund.ts';
import { accountsInUseSql } from './refund-filter.ts';

/** For how long an event is stored. */
export const receivedEventDays = 30;

/** Which stored events of processors to list; all of them by default. */
export interface ReceivedEventFilter {
  processor?: string | undefined;
  /** The processor's id of the event, as a whole. */
  id?: string | undefined;
}

/** A stored event of a processor, and what followed from it. */
export interface ReceivedEvent {
  id: string;
  processor: string;
  type: string;
  receivedAt: Date;
  /** The refund of ours that it is about; null for none. */
  refundId: string | null;
  externalRefundId: string | null;
  /** The processor's status of the refund, according to the event. */
  processorStatus: string | null;
  /** The first entry of a worker in the refund's timeline since then; null for none. */
  nextEntry: string | null;
}

/** The events of processors that an environment has stored, the newest first: those that are older than a position. */
export async function findReceivedEvents(
  db: Database,
  owner: RefundOwner,
  { processor, id }: ReceivedEventFilter,
  before: Position | null,
  limit: number,
): Promise<ReceivedEvent[]> {
  const { createdAt = null, id: beforeId = null } = before ?? {};
  const events =
    id === undefined
      ? Prisma.sql`older_processor_events(a.id, ${createdAt}::timestamptz, ${beforeId}::text, ${limit}::int)`
      : Prisma.sql`(SELECT * FROM processor_event WHERE account_id = a.id AND external_event_id = ${id} OFFSET 0)`;
  return await db.$queryRaw<ReceivedEvent[]>`
    WITH page AS MATERIALIZED (
      SELECT e.*, a.processor FROM ${accountsInUseSql(owner)} AS a CROSS JOIN LATERAL ${events} AS e
      WHERE ${processor === undefined ? Prisma.sql`true` : Prisma.sql`a.processor = ${processor}`}
      ORDER BY e.received_at DESC, e.external_event_id DESC LIMIT ${limit}
    )
    SELECT page.external_event_id AS id, page.processor, page.type, page.received_at AS "receivedAt",
      page.refund_id AS "refundId", page.external_refund_id AS "externalRefundId",
      page.processor_status AS "processorStatus", (
        SELECT entry.type FROM refund_event AS entry
        WHERE entry.refund_id = page.refund_id AND entry.created_at >= page.received_at AND entry.actor = 'worker'
        ORDER BY entry.seq LIMIT 1) AS "nextEntry"
    FROM page ORDER BY page.received_at DESC, page.external_event_id DESC`;
}
