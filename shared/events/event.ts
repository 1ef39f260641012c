import type { RefundEvent } from '../platform/database.ts';
import type { PublicEventType } from '../refunds/model/event-types.ts';
import {
  type PublicRefund,
  type ReadRefund,
  type RefundFailure,
  refundColumns,
  toFailure,
  toPublicRefund,
} from '../refunds/model/refund.ts';
import type { RefundStatus } from '../refunds/model/states.ts';

/** The type of the event that tests an endpoint. It is not in the feed. */
export const testEventType = 'webhook.test';

/** An event as clients see it. */
export interface PublicEvent {
  id: string;
  type: PublicEventType;
  createdAt: string;
  refundId: string;
  /** Rises per refund; entries of the internal timeline take the numbers in between. */
  seq: number;
  /** Null where the status did not change, and for the first event. */
  previousStatus: RefundStatus | null;
  /** Why the refund failed; null for every other event. */
  failure: RefundFailure | null;
  /** The refund as it was right after the event. */
  data: { refund: PublicRefund };
}

/** A public event with its refund as it is now. */
export type ReadEvent = ReadRefund & {
  eventId: string;
  eventType: PublicEventType;
  recordedAt: Date;
  seq: number;
  previousStatus: RefundStatus | null;
  eventStatus: RefundStatus;
  eventExternalRefundId: string | null;
} & Pick<RefundEvent, 'failureCode' | 'failureMessage'>;

/** The columns of a `ReadEvent`, for SQL that names the event `e` and the refund `r`. */
export const eventColumns = `e.id AS "eventId", e.type AS "eventType", e.created_at AS "recordedAt", e.seq,
  e.previous_status AS "previousStatus", e.status AS "eventStatus", e.external_refund_id AS "eventExternalRefundId",
  e.failure_code AS "failureCode", e.failure_message AS "failureMessage", ${refundColumns}`;

/** The other fields of a refund never change, so they are read from the refund itself. */
export function toPublicEvent(event: ReadEvent): PublicEvent {
  return {
    id: event.eventId,
    type: event.eventType,
    createdAt: event.recordedAt.toISOString(),
    refundId: event.id,
    seq: event.seq,
    previousStatus: event.previousStatus,
    failure: toFailure(event),
    data: {
      refund: toPublicRefund({
        ...event,
        status: event.eventStatus,
        externalRefundId: event.eventExternalRefundId,
        updatedAt: event.recordedAt,
      }),
    },
  };
}

/** The event that tests an endpoint, as the endpoint gets it. It is about no refund. */
export function toTestEvent(id: string, createdAt: Date) {
  return {
    id,
    type: testEventType,
    createdAt: createdAt.toISOString(),
    refundId: null,
    seq: null,
    previousStatus: null,
    failure: null,
    data: {},
  };
}
