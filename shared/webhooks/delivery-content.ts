import {
  eventColumns,
  type PublicRoot,
  type ReadEvent,
  rootEventType,
  toPublicEvent,
  toRootEvent,
  toTestEvent,
} from '../events/event.ts';
import { Prisma } from '../platform/database.ts';

/** What the body of a delivery is made from. */
export interface DeliveryContent {
  /** The id of the event, the same in every attempt. */
  webhookId: string;
  /** When the delivery was created. */
  deliveryCreatedAt: Date;
  /** Null for an event that is about no refund. */
  event: ReadEvent | null;
  /** The root of a day, in the event about it; null in every other event. */
  root: PublicRoot | null;
}

/** The body that an endpoint gets. A test event is not in the feed, so it consists of its delivery alone. */
export function bodyOf({ event, root, webhookId, deliveryCreatedAt }: DeliveryContent): object {
  if (event !== null) return toPublicEvent(event);
  return root === null
    ? toTestEvent(webhookId, deliveryCreatedAt)
    : toRootEvent(webhookId, deliveryCreatedAt, root);
}

/** A row with `contentColumns`. */
export type ContentRow = Omit<DeliveryContent, 'event'> & (ReadEvent | { eventId: null });

export function contentFrom(row: ContentRow): DeliveryContent {
  const { webhookId, deliveryCreatedAt, root } = row;
  return { webhookId, deliveryCreatedAt, root, event: row.eventId === null ? null : row };
}

/** The columns of a `ContentRow`, for SQL that names the delivery `d` and has `joinContent`. */
export const contentColumns = Prisma.sql`${Prisma.raw(eventColumns)}, d.event_id AS "webhookId",
  d.created_at AS "deliveryCreatedAt", t.root`;

/** Joins the event of the delivery `d`. */
export const joinContent = Prisma.sql`
  LEFT JOIN LATERAL (
    SELECT * FROM refund_event WHERE id = d.event_id AND position IS NOT NULL) AS e ON true
  LEFT JOIN LATERAL (SELECT * FROM refund WHERE id = d.refund_id) AS r ON true
  LEFT JOIN LATERAL (
    SELECT json_build_object('organizationId', organization_id, 'environment', environment, 'day', day, 'eventCount', event_count,
      'root', encode(root, 'hex')) AS root
    FROM timeline_root WHERE d.type = ${rootEventType} AND id = d.event_id) AS t ON true`;
