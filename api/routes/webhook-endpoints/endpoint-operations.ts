import { z } from 'zod';
import { type EndpointRequest, findEndpoint, toPublicEndpoint } from '../../../shared/webhooks/endpoint.ts';
import {
  changeEndpoint,
  createEndpoint,
  deleteEndpoint,
  listEndpoints,
  maxEndpoints,
  rotateSecret,
} from '../../../shared/webhooks/manage-endpoints.ts';
import { type Call, operation } from '../../http/operation.ts';
import { dataResponse } from '../../http/route.ts';
import { jsonObject } from '../refunds/refund-schema.ts';
import {
  changeEndpointSchema,
  createEndpointSchema,
  deletedEndpointSchema,
  endpointParamsSchema,
  endpointSchema,
  endpointWithSecretSchema,
} from './endpoint-schema.ts';

const daySeconds = 86_400;
const weekSeconds = 7 * daySeconds;

const overlapMessage = `must be a whole number of seconds from 0 to ${weekSeconds} (seven days)`;

const rotateSecretSchema = jsonObject({
  overlapSeconds: z
    .int({ error: overlapMessage })
    .min(0, { error: overlapMessage })
    .max(weekSeconds, { error: overlapMessage })
    .default(daySeconds)
    .meta({ description: 'How long the earlier secrets sign as well; 0 ends them at once.' }),
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
    id: 'createWebhookEndpoint',
    method: 'POST',
    path: '/v1/webhook-endpoints',
    summary: 'Create a webhook endpoint',
    description:
      'Sends the events that happen from now on to a URL, signed with the secret in the response. An organization has at ' +
      `most ${maxEndpoints} endpoints per environment.`,
    body: ({ settings }) => createEndpointSchema(settings.NODE_ENV === 'production'),
    response: dataResponse('The endpoint with its secret.', endpointWithSecretSchema),
    async run(deps, { apiKey: { organizationId, environment }, actor, body }) {
      const request = { ...body, organizationId, environment, actor };
      const { endpoint, secret } = await createEndpoint(deps, request);
      return { data: { ...toPublicEndpoint(endpoint), secret } };
    },
  }),

  operation({
    ...webhooks,
    id: 'listWebhookEndpoints',
    method: 'GET',
    path: '/v1/webhook-endpoints',
    summary: 'List webhook endpoints',
    description: 'All endpoints of the environment, newest first, without their secrets.',
    response: dataResponse('The endpoints.', z.array(endpointSchema)),
    async run(deps, { apiKey }) {
      const endpoints = await listEndpoints(deps.db, apiKey);
      return { data: endpoints.map(toPublicEndpoint) };
    },
  }),

  operation({
    ...webhooks,
    id: 'getWebhookEndpoint',
    method: 'GET',
    path: '/v1/webhook-endpoints/:id',
    summary: 'Get a webhook endpoint',
    description: 'The endpoint without its secret.',
    params: endpointParamsSchema,
    response: dataResponse('The endpoint.', endpointSchema),
    run: async (deps, { apiKey, params }) => ({
      data: toPublicEndpoint(await findEndpoint(deps.db, apiKey, params.id)),
    }),
  }),

  operation({
    ...webhooks,
    id: 'changeWebhookEndpoint',
    method: 'PATCH',
    path: '/v1/webhook-endpoints/:id',
    summary: 'Change a webhook endpoint',
    description:
      'Changes the given fields. Disabling ends the pending deliveries as `failed`; events that happen while the endpoint ' +
      'is disabled are not sent to it, also not later.',
    params: endpointParamsSchema,
    body: ({ settings }) => changeEndpointSchema(settings.NODE_ENV === 'production'),
    response: dataResponse('The endpoint.', endpointSchema),
    run: async (deps, call) => ({
      data: toPublicEndpoint(await changeEndpoint(deps, endpointRequest(call), call.body)),
    }),
  }),

  operation({
    ...webhooks,
    id: 'deleteWebhookEndpoint',
    method: 'DELETE',
    path: '/v1/webhook-endpoints/:id',
    summary: 'Delete a webhook endpoint',
    description: 'Nothing more is sent to the endpoint, also not what is pending. A body is ignored.',
    params: endpointParamsSchema,
    response: dataResponse('The endpoint is deleted.', deletedEndpointSchema),
    async run(deps, call) {
      await deleteEndpoint(deps, endpointRequest(call));
      return { data: { id: call.params.id, deleted: true as const } };
    },
  }),

  operation({
    ...webhooks,
    id: 'rotateWebhookSecret',
    method: 'POST',
    path: '/v1/webhook-endpoints/:id/rotate-secret',
    summary: 'Rotate the secret of a webhook endpoint',
    description:
      'Until the overlap ends, each request carries a signature by the new secret and by every secret that was valid before, ' +
      'so a receiver works with any of them. A second rotation keeps those of the first; the newest five sign.',
    params: endpointParamsSchema,
    body: rotateSecretSchema.nullish(),
    response: dataResponse('The endpoint with its new secret.', endpointWithSecretSchema),
    async run(deps, call) {
      const { overlapSeconds = daySeconds } = call.body ?? {};
      const { endpoint, secret } = await rotateSecret(deps, endpointRequest(call), overlapSeconds);
      return { data: { ...toPublicEndpoint(endpoint), secret } };
    },
  }),
];
