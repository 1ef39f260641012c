/**
 * What a worker does next for a refund; prisma/functions/next_refund_step.sql decides it from what is on record.
 * - `verify`: read the payment, which was unreachable when the refund was created.
 * - `send`: surely not at the processor: submit it.
 * - `look_up`: perhaps at the processor: look before anything else.
 * - `settle`: at the processor: read whether it has settled.
 * - `cancel_at_processor`: at the processor, and to be cancelled.
 * - `cancel`: surely not at the processor, and to be cancelled.
 * - `review`: ended here: read whether the processor agrees.
 */
export type RefundStep =
  | 'verify'
  | 'send'
  | 'look_up'
  | 'settle'
  | 'cancel_at_processor'
  | 'cancel'
  | 'review';
