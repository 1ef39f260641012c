import { sendTestEvent } from '../../../shared/webhooks/deliveries.ts';
import { ignoredBody } from '../../http/body.ts';
import { dataResponse, errorResponses, routePlugin } from '../../http/route.ts';
import { deliverySchema } from './delivery-schema.ts';
import { endpointRequest } from './endpoint-request.ts';
import { endpointParamsSchema } from './endpoint-schema.ts';

/** `POST /v1/webhook-endpoints/:id/test`: sends an event of the type webhook.test. */
export const testEndpointRoute = routePlugin(
  { name: 'test-webhook-endpoint', dependencies: ['authenticate'] },
  async (app) => {
    const { deps } = app;
    await app.register(ignoredBody);
    app.post(
      '/v1/webhook-endpoints/:id/test',
      {
        schema: {
          operationId: 'testWebhookEndpoint',
          summary: 'Send a test event',
          description:
            'Sends an event of the type `webhook.test` now, also if the filter of the endpoint leaves the type out. Its delivery is in the list of ' +
            'deliveries; the event is not in the feed. A disabled endpoint is refused. A body is ignored.',
          tags: ['Webhooks'],
          security: [{ apiKey: ['webhooks:manage'] }],
          params: endpointParamsSchema,
          response: {
            200: dataResponse('The delivery, before its first attempt.', deliverySchema),
            ...errorResponses('not_found', 'payload_too_large'),
          },
        },
      },
      async (request) => ({ data: await sendTestEvent(deps, endpointRequest(request)) }),
    );
  },
);
