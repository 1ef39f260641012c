import { findEndpoint, toPublicEndpoint } from '../../../shared/webhooks/endpoint.ts';
import { dataResponse, errorResponses, routePlugin } from '../../http/route.ts';
import { endpointParamsSchema, endpointSchema } from './endpoint-schema.ts';

/** `GET /v1/webhook-endpoints/:id`: an endpoint. */
export const getEndpointRoute = routePlugin(
  { name: 'get-webhook-endpoint', dependencies: ['authenticate'] },
  async (app) => {
    const { deps } = app;
    app.get(
      '/v1/webhook-endpoints/:id',
      {
        schema: {
          operationId: 'getWebhookEndpoint',
          summary: 'Get a webhook endpoint',
          description: 'The endpoint without its secret.',
          tags: ['Webhooks'],
          security: [{ apiKey: ['webhooks:manage'] }],
          params: endpointParamsSchema,
          response: {
            200: dataResponse('The endpoint.', endpointSchema),
            ...errorResponses('not_found'),
          },
        },
      },
      async (request) => ({
        data: toPublicEndpoint(await findEndpoint(deps.db, request.apiKey, request.params.id)),
      }),
    );
  },
);
