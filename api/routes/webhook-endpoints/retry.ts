import { retryDelivery } from '../../../shared/webhooks/deliveries.ts';
import { ignoredBody } from '../../http/body.ts';
import { dataResponse, errorResponses, routePlugin } from '../../http/route.ts';
import { deliveryParamsSchema, deliverySchema } from './delivery-schema.ts';
import { endpointRequest } from './endpoint-request.ts';

/** `POST /v1/webhook-endpoints/:id/deliveries/:deliveryId/retry`: attempts a delivery now. */
export const retryDeliveryRoute = routePlugin(
  { name: 'retry-webhook-delivery', dependencies: ['authenticate'] },
  async (app) => {
    const { deps } = app;
    await app.register(ignoredBody);
    app.post(
      '/v1/webhook-endpoints/:id/deliveries/:deliveryId/retry',
      {
        schema: {
          operationId: 'retryWebhookDelivery',
          summary: 'Retry a delivery',
          description:
            'Attempts the delivery now, in place of the scheduled attempt; also one that succeeded or failed. While an attempt is ' +
            'under way, the next one follows as soon as it fails. A disabled endpoint is refused. A body is ignored.',
          tags: ['Webhooks'],
          security: [{ apiKey: ['webhooks:manage'] }],
          params: deliveryParamsSchema,
          response: {
            200: dataResponse('The delivery, before the new attempt.', deliverySchema),
            ...errorResponses('not_found', 'payload_too_large'),
          },
        },
      },
      async (request) => {
        const { deliveryId } = request.params;
        return { data: await retryDelivery(deps, { ...endpointRequest(request), deliveryId }) };
      },
    );
  },
);
