import { z } from 'zod';
import { isPrintable } from '#shared/platform/formats/printable.ts';
import { checkOutgoingUrl } from '#shared/platform/outgoing/outgoing-url.ts';
import {
  disabledReasons,
  type EndpointRequest,
  endpointEvents,
  findEndpoint,
  type PublicEndpoint,
  toPublicEndpoint,
} from '#shared/webhooks/endpoint.ts';
import {
  changeEndpoint,
  createEndpoint,
  deleteEndpoint,
  listEndpoints,
  maxEndpoints,
  rotateSecret,
} from '#shared/webhooks/manage-endpoints.ts';
import {
  checkedBy,
  idParams,
  jsonObject,
  listOutput,
  oneOf,
  required,
  timeOutput,
  wholeList,
} from './fields.ts';
import { type Call, operation } from './operation.ts';

const exampleEndpoint: PublicEndpoint = {
  id: 'we_01kahw4c0af8ktq9m1rj6z2e5n',
  url: 'https://example.com/webhooks/refunds',
  events: ['refund.completed', 'refund.failed'],
  description: 'Order service',
  status: 'enabled',
  disabledReason: null,
  createdBy: 'key:key_01kahvzr0b7qv3s5j8n2d4f6hk',
  createdAt: '2026-11-20T09:00:00.000Z',
  updatedAt: '2026-11-20T09:00:00.000Z',
};

const events = z
  .array(z.enum(endpointEvents))
  .describe('The types of events that are sent, or `["*"]` for all, also those that are added later.');

const description = z.string().nullable().describe('A note for you; null when none.');

const endpointFields = z.object({
  id: z.string().describe('Opaque, prefixed with we_.'),
  url: z.string().describe('Where events are sent, by POST.'),
  events,
  description,
  status: z.enum(['enabled', 'disabled']).describe('A disabled endpoint is sent nothing.'),
  disabledReason: z
    .enum(disabledReasons)
    .nullable()
    .describe(
      'Null while enabled. `requested`: disabled by a request. `gone`: the endpoint replied 410 Gone. ' +
        '`failing`: every attempt failed for five days.',
    ),
  createdBy: z
    .string()
    .nullable()
    .describe(
      '`key:<id>` or `user:<id>` of who created it, or changed its URL since; null for an endpoint that an earlier version created.',
    ),
  createdAt: timeOutput(),
  updatedAt: timeOutput('The last change of the endpoint.'),
});

const endpointSchema = endpointFields.meta({
  id: 'WebhookEndpoint',
  description: 'A URL that events are sent to.',
  examples: [exampleEndpoint],
});

const endpointWithSecretSchema = endpointFields
  .extend({
    secret: z.string().describe('Verifies the signatures (Standard Webhooks). Shown only here; store it.'),
  })
  .meta({
    id: 'WebhookEndpointWithSecret',
    description: 'A webhook endpoint with its new secret.',
    examples: [{ ...exampleEndpoint, secret: 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSwMfKQ9r8GKYo=' }],
  });

const deletedEndpointSchema = z
  .object({
    id: z.string().describe('The id of the endpoint.'),
    deleted: z.literal(true).describe('Always true.'),
  })
  .meta({ id: 'DeletedWebhookEndpoint', examples: [{ id: exampleEndpoint.id, deleted: true }] });

const urlInput = (isProduction: boolean) =>
  z
    .string({ error: required('must be a string') })
    .superRefine(checkedBy((url) => checkOutgoingUrl(url, isProduction)))
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
  .refine((text) => isPrintable(text, { min: 0, max: 500 }), { error: 'must have printable characters only' })
  .nullable()
  .meta({ description: 'A note for you.', examples: ['Order service'] });

/** @param isProduction as `checkOutgoingUrl`. */
export function createEndpointSchema(isProduction: boolean) {
  return jsonObject({
    url: urlInput(isProduction),
    // Generated clients give a default of several texts a type that their own schema refuses.
    events: eventsInput.default(['*']).meta({ default: undefined }),
    description: descriptionInput.default(null),
  }).meta({
    examples: [{ url: exampleEndpoint.url, events: exampleEndpoint.events, description: 'Order service' }],
  });
}

/** @param isProduction as `checkOutgoingUrl`. */
function changeEndpointSchema(isProduction: boolean) {
  return jsonObject({
    url: urlInput(isProduction).optional(),
    events: eventsInput.optional(),
    description: descriptionInput.optional(),
    status: oneOf(['enabled', 'disabled']).optional().describe('Disabling ends the pending deliveries.'),
  }).meta({ examples: [{ events: ['*'], status: 'enabled' }] });
}

export const endpointParamsSchema = idParams('endpoint, we_...', exampleEndpoint.id);

const daySeconds = 86_400;
const weekSeconds = 7 * daySeconds;

const overlapMessage = `must be a whole number of seconds from 0 to ${weekSeconds} (seven days)`;

const rotateSecretSchema = jsonObject({
  overlapSeconds: z
    .int({ error: overlapMessage })
    .min(0, { error: overlapMessage })
    .max(weekSeconds, { error: overlapMessage })
    .default(daySeconds)
    .describe('How long the earlier secrets sign as well; 0 ends them at once.'),
}).meta({ examples: [{ overlapSeconds: 3600 }] });

/** The endpoint that a call names, with the owner and the actor of its key. */
export function endpointRequest({
  apiKey: { organizationId, environment },
  actor,
  params,
}: Call<{ id: string }>): EndpointRequest {
  return { organizationId, environment, endpointId: params.id, actor };
}

export const webhooks = { tag: 'Webhooks', scope: 'webhooks:manage' } as const;

export const endpointOperations = [
  operation({
    ...webhooks,
    // What is sent to the endpoint is what this scope lets a key read.
    alsoNeeds: 'refunds:read',
    id: 'createWebhookEndpoint',
    route: 'POST /v1/webhook-endpoints',
    summary: 'Create a webhook endpoint',
    description:
      'Sends the events that happen from now on to a URL, signed with the secret in the response. An organization has at ' +
      `most ${maxEndpoints} endpoints per environment.`,
    body: ({ settings }) => createEndpointSchema(settings.NODE_ENV === 'production'),
    answer: 'The endpoint with its secret.',
    output: endpointWithSecretSchema,
    async run(deps, { apiKey: { organizationId, environment }, actor, body }) {
      const request = { ...body, organizationId, environment, actor };
      const { endpoint, secret } = await createEndpoint(deps, request);
      return { ...toPublicEndpoint(endpoint), secret };
    },
  }),

  operation({
    ...webhooks,
    id: 'listWebhookEndpoints',
    route: 'GET /v1/webhook-endpoints',
    summary: 'List webhook endpoints',
    description: 'All endpoints of the environment, newest first, without their secrets.',
    answer: 'The endpoints.',
    output: listOutput(endpointSchema, false),
    hasData: true,
    run: async (deps, { apiKey }) => wholeList((await listEndpoints(deps.db, apiKey)).map(toPublicEndpoint)),
  }),

  operation({
    ...webhooks,
    id: 'getWebhookEndpoint',
    route: 'GET /v1/webhook-endpoints/:id',
    summary: 'Get a webhook endpoint',
    description: 'The endpoint without its secret.',
    params: endpointParamsSchema,
    answer: 'The endpoint.',
    output: endpointSchema,
    run: async (deps, { apiKey, params }) => toPublicEndpoint(await findEndpoint(deps.db, apiKey, params.id)),
  }),

  operation({
    ...webhooks,
    // What is sent to the endpoint is what this scope lets a key read.
    alsoNeeds: 'refunds:read',
    id: 'changeWebhookEndpoint',
    route: 'PATCH /v1/webhook-endpoints/:id',
    summary: 'Change a webhook endpoint',
    description:
      'Changes the given fields. Disabling ends the pending deliveries as `failed`; events that happen while the endpoint ' +
      'is disabled are sent to it only with `replay-missing`.',
    params: endpointParamsSchema,
    body: ({ settings }) => changeEndpointSchema(settings.NODE_ENV === 'production'),
    answer: 'The endpoint.',
    output: endpointSchema,
    run: async (deps, call) => toPublicEndpoint(await changeEndpoint(deps, endpointRequest(call), call.body)),
  }),

  operation({
    ...webhooks,
    id: 'deleteWebhookEndpoint',
    route: 'DELETE /v1/webhook-endpoints/:id',
    summary: 'Delete a webhook endpoint',
    description: 'Nothing more is sent to the endpoint, also not what is pending. A body is ignored.',
    params: endpointParamsSchema,
    answer: 'The endpoint is deleted.',
    output: deletedEndpointSchema,
    async run(deps, call) {
      await deleteEndpoint(deps, endpointRequest(call));
      return { id: call.params.id, deleted: true as const };
    },
  }),

  operation({
    ...webhooks,
    id: 'rotateWebhookSecret',
    route: 'POST /v1/webhook-endpoints/:id/rotate-secret',
    summary: 'Rotate the secret of a webhook endpoint',
    description:
      'Until the overlap ends, each request carries a signature by the new secret and by every secret that was valid before, ' +
      'so a receiver works with any of them. A second rotation keeps those of the first; the newest five sign.',
    params: endpointParamsSchema,
    body: rotateSecretSchema.nullish(),
    answer: 'The endpoint with its new secret.',
    output: endpointWithSecretSchema,
    async run(deps, call) {
      const { overlapSeconds = daySeconds } = call.body ?? {};
      const { endpoint, secret } = await rotateSecret(deps, endpointRequest(call), overlapSeconds);
      return { ...toPublicEndpoint(endpoint), secret };
    },
  }),
];
