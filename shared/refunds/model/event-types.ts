/** The events that clients see. Only their names begin with `refund.`; prisma/functions/events/is_public_event.sql relies on it. */
export const publicEventTypes = [
  'refund.created',
  'refund.approval_required',
  'refund.processing',
  'refund.completed',
  'refund.failed',
  'refund.cancelled',
] as const;

export type PublicEventType = (typeof publicEventTypes)[number];

/** The event types of a timeline. api/dashboard/pages/refunds/timeline.tsx has their texts. */
export type RefundEventType =
  | PublicEventType
  | 'attempt.accepted'
  | 'attempt.unavailable'
  | 'attempt.unknown'
  | 'attempt.misconfigured'
  | 'lookup.found'
  | 'lookup.absent'
  | 'lookup.inconclusive'
  | 'lookup.unanswered'
  | 'lookup.flagged'
  | 'settlement.progress'
  | 'settlement.flagged'
  | 'cancel.requested'
  | 'cancel.refused'
  | 'cancel.unanswered'
  | 'arrival.known'
  | 'review.agreed'
  | 'review.flagged'
  | 'metadata.changed'
  | 'note.added'
  | 'flag.dismissed'
  | 'reconciliation.flagged'
  | 'recovery.put_back';
