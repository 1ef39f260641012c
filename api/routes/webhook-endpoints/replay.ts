import { z } from 'zod';
import { maxReplayed, replayDeliveries } from '../../../shared/webhooks/deliveries.ts';
import { dataResponse, errorResponses, routePlugin } from '../../http/route.ts';
import { objectError, required } from '../refunds/refund-schema.ts';
import { deliveryStatusSchema } from './delivery-schema.ts';
import { endpointRequest } from './endpoint-request.ts';
import { endpointParamsSchema } from './endpoint-schema.ts';

const timeError = 'must be a time in ISO 8601, such as 2026-11-20T09:30:00Z';

const yearOf = (text: string) => new Date(text).getUTCFullYear();

const replaySchema = z
  .strictObject(
    {
      since: z.iso
        .datetime({ offset: true, error: required(timeError) })
        .refine((text) => yearOf(text) >= 1970 && yearOf(text) <= 9999, { error: timeError })
        .meta({ description: 'Deliveries created at this time or later.' }),
      status: deliveryStatusSchema
        .default('failed')
        .meta({ description: 'Only deliveries with this status.' }),
    },
    { error: objectError },
  )
  .meta({ examples: [{ since: '2026-11-20T09:30:00.000Z' }] });

const replayedSchema = z
  .object({ count: z.int().min(0).meta({ description: 'How many deliveries are attempted again.' }) })
  .meta({ id: 'ReplayedWebhooks', examples: [{ count: 12 }] });

/** `POST /v1/webhook-endpoints/:id/replay`: attempts the deliveries of a period again. */
export const replayDeliveriesRoute = routePlugin(
  { name: 'replay-webhook-deliveries', dependencies: ['authenticate'] },
  async (app) => {
    const { deps } = app;
    app.post(
      '/v1/webhook-endpoints/:id/replay',
      {
        schema: {
          operationId: 'replayWebhookDeliveries',
          summary: 'Replay deliveries',
          description:
            'Attempts the deliveries again that were created since a time: the failed ones, unless another status is given. At most ' +
            `${maxReplayed} at once, the oldest first. The events keep their ids. A disabled endpoint is refused.`,
          tags: ['Webhooks'],
          security: [{ apiKey: ['webhooks:manage'] }],
          params: endpointParamsSchema,
          body: replaySchema,
          response: {
            200: dataResponse('The number of deliveries.', replayedSchema),
            ...errorResponses('not_found', 'payload_too_large', 'unsupported_media_type'),
          },
        },
      },
      async (request) => {
        const { since, status } = request.body;
        const replay = { ...endpointRequest(request), since: new Date(since), status };
        return { data: { count: await replayDeliveries(deps, replay) } };
      },
    );
  },
);
