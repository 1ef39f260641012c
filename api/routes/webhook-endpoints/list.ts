import { z } from 'zod';
import { toPublicEndpoint } from '../../../shared/webhooks/endpoint.ts';
import { listEndpoints } from '../../../shared/webhooks/manage-endpoints.ts';
import { dataResponse, errorResponses, routePlugin } from '../../http/route.ts';
import { endpointSchema } from './endpoint-schema.ts';

/** `GET /v1/webhook-endpoints`: all endpoints. */
export const listEndpointsRoute = routePlugin(
  { name: 'list-webhook-endpoints', dependencies: ['authenticate'] },
  async (app) => {
    const { deps } = app;
    app.get(
      '/v1/webhook-endpoints',
      {
        schema: {
          operationId: 'listWebhookEndpoints',
          summary: 'List webhook endpoints',
          description: 'All endpoints of the environment, newest first, without their secrets.',
          tags: ['Webhooks'],
          security: [{ apiKey: ['webhooks:manage'] }],
          response: {
            200: dataResponse('The endpoints.', z.array(endpointSchema)),
            ...errorResponses(),
          },
        },
      },
      async (request) => {
        const endpoints = await listEndpoints(deps.db, request.apiKey);
        return { data: endpoints.map(toPublicEndpoint) };
      },
    );
  },
);
