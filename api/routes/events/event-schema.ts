import { z } from 'zod';
import { publicEventTypes } from '../../../shared/events/event.ts';
import { refundStatuses } from '../../../shared/refunds/model/states.ts';
import { exampleRefund, failureSchema, refundSchema } from '../refunds/refund-schema.ts';

const completedAt = '2026-11-20T09:30:02.000Z';

export const exampleEvent = {
  id: 'evt_01kahw3xs5fv2rj0c8m4t9p6ye',
  type: 'refund.completed',
  createdAt: completedAt,
  refundId: exampleRefund.id,
  seq: 4,
  previousStatus: 'processing',
  failure: null,
  data: { refund: { ...exampleRefund, status: 'completed', updatedAt: completedAt } },
};

export const eventSchema = z
  .object({
    id: z.string().meta({ description: 'Opaque, prefixed with evt_.' }),
    type: z.enum(publicEventTypes).meta({ description: 'What happened.' }),
    createdAt: z.string().meta({ format: 'date-time', description: 'UTC, with milliseconds.' }),
    refundId: z.string().meta({ description: 'The id of the refund.' }),
    seq: z
      .int()
      .positive()
      .meta({ description: 'Rises with every event of the refund; numbers may be left out.' }),
    previousStatus: z.enum(refundStatuses).nullable().meta({
      description: 'The status before; null for `refund.created` and where the status did not change.',
    }),
    failure: failureSchema
      .nullable()
      .meta({ description: 'Why the refund failed; null for every other type.' }),
    data: z
      .object({ refund: refundSchema })
      .meta({ description: 'The refund as it was right after the event.' }),
  })
  .meta({ id: 'Event', description: 'A change of a refund.', examples: [exampleEvent] });
