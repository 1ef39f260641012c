import { toPublicEndpoint } from '../../../shared/webhooks/endpoint.ts';
import { createEndpoint, maxEndpoints } from '../../../shared/webhooks/manage-endpoints.ts';
import { dataResponse, errorResponses, routePlugin } from '../../http/route.ts';
import { createEndpointSchema, endpointWithSecretSchema } from './endpoint-schema.ts';

/** `POST /v1/webhook-endpoints`: events are sent to a URL from now on. */
export const createEndpointRoute = routePlugin(
  { name: 'create-webhook-endpoint', dependencies: ['authenticate'] },
  async (app) => {
    const { deps } = app;
    const isProduction = deps.settings.NODE_ENV === 'production';
    app.post(
      '/v1/webhook-endpoints',
      {
        schema: {
          operationId: 'createWebhookEndpoint',
          summary: 'Create a webhook endpoint',
          description:
            'Sends the events that happen from now on to a URL, signed with the secret in the response. An organization has at ' +
            `most ${maxEndpoints} endpoints per environment.`,
          tags: ['Webhooks'],
          security: [{ apiKey: ['webhooks:manage'] }],
          body: createEndpointSchema(isProduction),
          response: {
            200: dataResponse('The endpoint with its secret.', endpointWithSecretSchema),
            ...errorResponses('payload_too_large', 'unsupported_media_type'),
          },
        },
      },
      async (request) => {
        const { id: apiKeyId, organizationId, environment } = request.apiKey;
        const { endpoint, secret } = await createEndpoint(deps, {
          ...request.body,
          organizationId,
          environment,
          actor: `key:${apiKeyId}`,
        });
        return { data: { ...toPublicEndpoint(endpoint), secret } };
      },
    );
  },
);
