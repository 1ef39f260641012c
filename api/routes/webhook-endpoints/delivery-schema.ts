import { z } from 'zod';
import { testEventType } from '../../../shared/events/event.ts';
import { publicEventTypes } from '../../../shared/refunds/model/event-types.ts';
import { attemptErrors } from '../../../shared/webhooks/attempt-error.ts';
import { deliveryStatuses } from '../../../shared/webhooks/deliveries.ts';
import { endpointParamsSchema } from './endpoint-schema.ts';

const errorList = Object.entries(attemptErrors)
  .map(([code, meaning]) => `\`${code}\`: ${meaning}`)
  .join(' ');

const exampleDelivery = {
  id: 'del_01kahw4f2vexrvhq3s8m7k1dpb',
  eventId: 'evt_01kahw3xs5fv2rj0c8m4t9p6ye',
  type: 'refund.completed',
  status: 'pending',
  nextAttemptAt: '2026-11-20T09:30:07.400Z',
  attempts: [
    {
      startedAt: '2026-11-20T09:30:02.150Z',
      durationMs: 84,
      responseStatus: 500,
      error: 'unsuccessful_status',
      responseBody: 'Internal Server Error',
    },
  ],
};

const attemptSchema = z.object({
  startedAt: z.string().meta({ format: 'date-time', description: 'UTC, with milliseconds.' }),
  durationMs: z
    .int()
    .nullable()
    .meta({ description: 'Null while it is under way, and when its worker was stopped.' }),
  responseStatus: z.int().nullable().meta({ description: 'The HTTP status; null without a response.' }),
  error: z
    .string()
    .nullable()
    .meta({ description: `Why it failed; null when it did not. More codes may follow. ${errorList}` }),
  responseBody: z.string().nullable().meta({ description: 'The beginning of the response.' }),
});

export const deliverySchema = z
  .object({
    id: z.string().meta({ description: 'Opaque, prefixed with del_.' }),
    eventId: z.string().meta({ description: 'The event that is sent; the `webhook-id` of every attempt.' }),
    type: z.enum([...publicEventTypes, testEventType]).meta({ description: 'The type of the event.' }),
    status: z.enum(deliveryStatuses).meta({
      description:
        '`pending`: an attempt is under way or follows. `succeeded`: the endpoint replied 2xx. `failed`: no attempt follows.',
    }),
    nextAttemptAt: z.string().nullable().meta({
      format: 'date-time',
      description:
        'When the next attempt is due. During an attempt: when it is repeated if its worker stops. Null if none follows.',
    }),
    attempts: z.array(attemptSchema).meta({ description: 'The last 20, the oldest first.' }),
  })
  .meta({
    id: 'WebhookDelivery',
    description: 'One event for one endpoint, with every attempt.',
    examples: [exampleDelivery],
  });

export const deliveryParamsSchema = endpointParamsSchema.extend({
  deliveryId: z
    .string()
    .meta({ description: 'The id of the delivery, del_...', examples: [exampleDelivery.id] }),
});

export const deliveryStatusSchema = z.enum(deliveryStatuses, {
  error: `must be one of: ${deliveryStatuses.join(', ')}`,
});
