import { z } from 'zod';
import { deleteEndpoint } from '../../../shared/webhooks/manage-endpoints.ts';
import { ignoredBody } from '../../http/body.ts';
import { dataResponse, errorResponses, routePlugin } from '../../http/route.ts';
import { endpointRequest } from './endpoint-request.ts';
import { endpointParamsSchema, exampleEndpoint } from './endpoint-schema.ts';

const deletedSchema = z
  .object({
    id: z.string().meta({ description: 'The id of the endpoint.' }),
    deleted: z.literal(true).meta({ description: 'Always true.' }),
  })
  .meta({ id: 'DeletedWebhookEndpoint', examples: [{ id: exampleEndpoint.id, deleted: true }] });

/** `DELETE /v1/webhook-endpoints/:id`: ends an endpoint and its deliveries. */
export const deleteEndpointRoute = routePlugin(
  { name: 'delete-webhook-endpoint', dependencies: ['authenticate'] },
  async (app) => {
    const { deps } = app;
    await app.register(ignoredBody);
    app.delete(
      '/v1/webhook-endpoints/:id',
      {
        schema: {
          operationId: 'deleteWebhookEndpoint',
          summary: 'Delete a webhook endpoint',
          description: 'Nothing more is sent to the endpoint, also not what is pending. A body is ignored.',
          tags: ['Webhooks'],
          security: [{ apiKey: ['webhooks:manage'] }],
          params: endpointParamsSchema,
          response: {
            200: dataResponse('The endpoint is deleted.', deletedSchema),
            ...errorResponses('not_found', 'payload_too_large'),
          },
        },
      },
      async (request) => {
        await deleteEndpoint(deps, endpointRequest(request));
        return { data: { id: request.params.id, deleted: true as const } };
      },
    );
  },
);
