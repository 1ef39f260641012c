import { z } from 'zod';
import { listDeliveries } from '../../../shared/webhooks/deliveries.ts';
import { offsetNumber, wholeNumber } from '../../http/query-parameters.ts';
import { dataResponse, errorResponses, routePlugin } from '../../http/route.ts';
import { deliverySchema, deliveryStatusSchema } from './delivery-schema.ts';
import { endpointParamsSchema } from './endpoint-schema.ts';

const listDeliveriesQuerySchema = z.object({
  status: deliveryStatusSchema.optional().meta({ description: 'Only deliveries with this status.' }),
  limit: wholeNumber('The maximum number of deliveries to return.', 1, 100, 25),
  offset: offsetNumber('The number of deliveries to skip.', 'filter by status to read fewer'),
});

/** `GET /v1/webhook-endpoints/:id/deliveries`: what was sent to an endpoint, newest first. */
export const listDeliveriesRoute = routePlugin(
  { name: 'list-webhook-deliveries', dependencies: ['authenticate'] },
  async (app) => {
    const { deps } = app;
    app.get(
      '/v1/webhook-endpoints/:id/deliveries',
      {
        schema: {
          operationId: 'listWebhookDeliveries',
          summary: 'List deliveries',
          description:
            'What was sent to the endpoint and what is pending, newest first, with every attempt. A page with fewer deliveries ' +
            'than `limit` is the last one.',
          tags: ['Webhooks'],
          security: [{ apiKey: ['webhooks:manage'] }],
          params: endpointParamsSchema,
          querystring: listDeliveriesQuerySchema,
          response: {
            200: dataResponse('One page of deliveries.', z.array(deliverySchema)),
            ...errorResponses('not_found'),
          },
        },
      },
      async (request) => {
        const { status, limit, offset } = request.query;
        const listing = { status, limit, offset };
        return { data: await listDeliveries(deps.db, request.apiKey, request.params.id, listing) };
      },
    );
  },
);
