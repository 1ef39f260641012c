import type { RefundEvent } from '../platform/database.ts';
import type { Environment } from '../platform/environment.ts';
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

/** The type of the event with the root of a day (shared/timeline/). It is about no refund and not in the feed. */
export const rootEventType = 'timeline.root';

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

/** What is the same in every event that is about no refund. */
const aboutNoRefund = { refundId: null, seq: null, previousStatus: null, failure: null };

/** The event that tests an endpoint, as the endpoint gets it. */
export function toTestEvent(id: string, createdAt: Date) {
  return { id, type: testEventType, createdAt: createdAt.toISOString(), ...aboutNoRefund, data: {} };
}

/** The root of a day as clients see it. */
export interface PublicRoot {
  organizationId: string;
  environment: Environment;
  /** In UTC, as `2026-11-24`. */
  day: string;
  eventCount: number;
  /** In hexadecimal. */
  root: string;
}

/** The event with the root of a day, as endpoints get it. */
export function toRootEvent(id: string, createdAt: Date, data: PublicRoot) {
  return { id, type: rootEventType, createdAt: createdAt.toISOString(), ...aboutNoRefund, data };
}
