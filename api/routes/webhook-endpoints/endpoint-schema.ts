import { z } from 'zod';
import { isStorable, unstorableMessage } from '../../../shared/platform/json.ts';
import { disabledReasons, endpointEvents, type PublicEndpoint } from '../../../shared/webhooks/endpoint.ts';
import { checkEndpointUrl } from '../../../shared/webhooks/endpoint-url.ts';
import { checkedBy, jsonObject, required } from '../refunds/refund-schema.ts';

const exampleEndpoint: PublicEndpoint = {
  id: 'we_01kahw4c0af8ktq9m1rj6z2e5n',
  url: 'https://example.com/webhooks/refunds',
  events: ['refund.completed', 'refund.failed'],
  description: 'Order service',
  status: 'enabled',
  disabledReason: null,
  createdAt: '2026-11-20T09:00:00.000Z',
  updatedAt: '2026-11-20T09:00:00.000Z',
};

const events = z.array(z.enum(endpointEvents)).meta({
  description: 'The types of events that are sent, or `["*"]` for all, also those that are added later.',
});

const description = z.string().nullable().meta({ description: 'A note for you; null when none.' });

const endpointFields = z.object({
  id: z.string().meta({ description: 'Opaque, prefixed with we_.' }),
  url: z.string().meta({ description: 'Where events are sent, by POST.' }),
  events,
  description,
  status: z.enum(['enabled', 'disabled']).meta({ description: 'A disabled endpoint is sent nothing.' }),
  disabledReason: z
    .enum(disabledReasons)
    .nullable()
    .meta({
      description:
        'Null while enabled. `requested`: disabled by a request. `gone`: the endpoint replied 410 Gone. ' +
        '`failing`: every attempt failed for five days.',
    }),
  createdAt: z.string().meta({ format: 'date-time', description: 'UTC, with milliseconds.' }),
  updatedAt: z.string().meta({ format: 'date-time', description: 'The last change of the endpoint.' }),
});

export const endpointSchema = endpointFields.meta({
  id: 'WebhookEndpoint',
  description: 'A URL that events are sent to.',
  examples: [exampleEndpoint],
});

export const endpointWithSecretSchema = endpointFields
  .extend({
    secret: z.string().meta({
      description: 'Verifies the signatures (Standard Webhooks). Shown only here; store it.',
    }),
  })
  .meta({
    id: 'WebhookEndpointWithSecret',
    description: 'A webhook endpoint with its new secret.',
    examples: [{ ...exampleEndpoint, secret: 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSwMfKQ9r8GKYo=' }],
  });

export const deletedEndpointSchema = z
  .object({
    id: z.string().meta({ description: 'The id of the endpoint.' }),
    deleted: z.literal(true).meta({ description: 'Always true.' }),
  })
  .meta({ id: 'DeletedWebhookEndpoint', examples: [{ id: exampleEndpoint.id, deleted: true }] });

const urlInput = (isProduction: boolean) =>
  z
    .string({ error: required('must be a string') })
    .superRefine(checkedBy((url) => checkEndpointUrl(url, isProduction)))
    .meta({
      description:
        'At most 2,048 characters, without a user name or password. In production it must be https and not a private address.',
      examples: [exampleEndpoint.url],
    });

const eventsInput = z
  .array(
    z.enum(endpointEvents, {
      error: ({ input }) =>
        `unknown type ${JSON.stringify(input)?.slice(0, 40)}; use ${endpointEvents.join(', ')}`,
    }),
    { error: 'must be an array of event types' },
  )
  .min(1, { error: 'must have at least one type; use ["*"] for all' })
  .max(100, { error: 'must have at most 100 types' })
  .meta({
    description: 'The types of events to send, or `["*"]` for all.',
    examples: [['refund.completed']],
  });

const descriptionInput = z
  .string({ error: 'must be a string or null' })
  .max(500, { error: 'must have at most 500 characters' })
  .refine(isStorable, { error: unstorableMessage })
  .nullable()
  .meta({ description: 'A note for you.', examples: ['Order service'] });

/** @param isProduction as `checkEndpointUrl`. */
export function createEndpointSchema(isProduction: boolean) {
  return jsonObject({
    url: urlInput(isProduction),
    events: eventsInput.default(['*']),
    description: descriptionInput.default(null),
  }).meta({
    examples: [{ url: exampleEndpoint.url, events: exampleEndpoint.events, description: 'Order service' }],
  });
}

/** @param isProduction as `checkEndpointUrl`. */
export function changeEndpointSchema(isProduction: boolean) {
  return jsonObject({
    url: urlInput(isProduction).optional(),
    events: eventsInput.optional(),
    description: descriptionInput.optional(),
    status: z
      .enum(['enabled', 'disabled'], { error: 'must be one of: enabled, disabled' })
      .optional()
      .meta({ description: 'Disabling ends the pending deliveries.' }),
  }).meta({ examples: [{ events: ['*'], status: 'enabled' }] });
}

export const endpointParamsSchema = z.object({
  id: z.string().meta({ description: 'The id of the endpoint, we_...', examples: [exampleEndpoint.id] }),
});
