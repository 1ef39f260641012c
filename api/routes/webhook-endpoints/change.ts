import { toPublicEndpoint } from '../../../shared/webhooks/endpoint.ts';
import { changeEndpoint } from '../../../shared/webhooks/manage-endpoints.ts';
import { dataResponse, errorResponses, routePlugin } from '../../http/route.ts';
import { endpointRequest } from './endpoint-request.ts';
import { changeEndpointSchema, endpointParamsSchema, endpointSchema } from './endpoint-schema.ts';

/** `PATCH /v1/webhook-endpoints/:id`: changes the given fields of an endpoint. */
export const changeEndpointRoute = routePlugin(
  { name: 'change-webhook-endpoint', dependencies: ['authenticate'] },
  async (app) => {
    const { deps } = app;
    const isProduction = deps.settings.NODE_ENV === 'production';
    app.patch(
      '/v1/webhook-endpoints/:id',
      {
        schema: {
          operationId: 'changeWebhookEndpoint',
          summary: 'Change a webhook endpoint',
          description:
            'Changes the given fields. Disabling ends the pending deliveries as `failed`; events that happen while the endpoint ' +
            'is disabled are not sent to it, also not later.',
          tags: ['Webhooks'],
          security: [{ apiKey: ['webhooks:manage'] }],
          params: endpointParamsSchema,
          body: changeEndpointSchema(isProduction),
          response: {
            200: dataResponse('The endpoint.', endpointSchema),
            ...errorResponses('not_found', 'payload_too_large', 'unsupported_media_type'),
          },
        },
      },
      async (request) => {
        const endpoint = await changeEndpoint(deps, endpointRequest(request), request.body);
        return { data: toPublicEndpoint(endpoint) };
      },
    );
  },
);
