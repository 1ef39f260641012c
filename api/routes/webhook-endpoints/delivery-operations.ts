import { z } from 'zod';
import {
  listDeliveries,
  maxReplayed,
  replayDeliveries,
  retryDelivery,
  sendTestEvent,
} from '../../../shared/webhooks/deliveries.ts';
import { operation } from '../../http/operation.ts';
import { offsetNumber, wholeNumber } from '../../http/query-parameters.ts';
import { dataResponse } from '../../http/route.ts';
import { jsonObject, required } from '../refunds/refund-schema.ts';
import { deliveryParamsSchema, deliverySchema, deliveryStatusSchema } from './delivery-schema.ts';
import { endpointRequest, webhooks } from './endpoint-operations.ts';
import { endpointParamsSchema } from './endpoint-schema.ts';

const listDeliveriesQuerySchema = z.object({
  status: deliveryStatusSchema.optional().meta({ description: 'Only deliveries with this status.' }),
  limit: wholeNumber('The maximum number of deliveries to return.', 1, 100, 25),
  offset: offsetNumber('The number of deliveries to skip.', 'filter by status to read fewer'),
});

const timeError = 'must be a time in ISO 8601, such as 2026-11-20T09:30:00Z';

const yearOf = (text: string) => new Date(text).getUTCFullYear();

const replaySchema = jsonObject({
  since: z.iso
    .datetime({ offset: true, error: required(timeError) })
    .refine((text) => yearOf(text) >= 1970 && yearOf(text) <= 9999, { error: timeError })
    .meta({ description: 'Deliveries created at this time or later.' }),
  status: deliveryStatusSchema.default('failed').meta({ description: 'Only deliveries with this status.' }),
}).meta({ examples: [{ since: '2026-11-20T09:30:00.000Z' }] });

const replayedSchema = z
  .object({ count: z.int().min(0).meta({ description: 'How many deliveries are attempted again.' }) })
  .meta({ id: 'ReplayedWebhooks', examples: [{ count: 12 }] });

/** What is sent to an endpoint. */
export const deliveryOperations = [
  operation({
    ...webhooks,
    id: 'testWebhookEndpoint',
    method: 'POST',
    path: '/v1/webhook-endpoints/:id/test',
    summary: 'Send a test event',
    description:
      'Sends an event of the type `webhook.test` now, also if the filter of the endpoint leaves the type out. Its delivery is in the list of ' +
      'deliveries; the event is not in the feed. A disabled endpoint is refused. A body is ignored.',
    params: endpointParamsSchema,
    response: dataResponse('The delivery, before its first attempt.', deliverySchema),
    run: async (deps, call) => ({ data: await sendTestEvent(deps, endpointRequest(call)) }),
  }),

  operation({
    ...webhooks,
    id: 'listWebhookDeliveries',
    method: 'GET',
    path: '/v1/webhook-endpoints/:id/deliveries',
    summary: 'List deliveries',
    description:
      'What was sent to the endpoint and what is pending, newest first, with every attempt. A page with fewer deliveries ' +
      'than `limit` is the last one.',
    params: endpointParamsSchema,
    query: listDeliveriesQuerySchema,
    response: dataResponse('One page of deliveries.', z.array(deliverySchema)),
    async run(deps, { apiKey, params, query: { status, limit, offset } }) {
      return { data: await listDeliveries(deps.db, apiKey, params.id, { status, limit, offset }) };
    },
  }),

  operation({
    ...webhooks,
    id: 'retryWebhookDelivery',
    method: 'POST',
    path: '/v1/webhook-endpoints/:id/deliveries/:deliveryId/retry',
    summary: 'Retry a delivery',
    description:
      'Attempts the delivery now, in place of the scheduled attempt; also one that succeeded or failed. While an attempt is ' +
      'under way, the next one follows as soon as it fails. A disabled endpoint is refused. A body is ignored.',
    params: deliveryParamsSchema,
    response: dataResponse('The delivery, before the new attempt.', deliverySchema),
    async run(deps, call) {
      const { deliveryId } = call.params;
      return { data: await retryDelivery(deps, { ...endpointRequest(call), deliveryId }) };
    },
  }),

  operation({
    ...webhooks,
    id: 'replayWebhookDeliveries',
    method: 'POST',
    path: '/v1/webhook-endpoints/:id/replay',
    summary: 'Replay deliveries',
    description:
      'Attempts the deliveries again that were created since a time: the failed ones, unless another status is given. At most ' +
      `${maxReplayed} at once, the oldest first. The events keep their ids. A disabled endpoint is refused.`,
    params: endpointParamsSchema,
    body: replaySchema,
    response: dataResponse('The number of deliveries.', replayedSchema),
    async run(deps, call) {
      const { since, status } = call.body;
      const replay = { ...endpointRequest(call), since: new Date(since), status };
      return { data: { count: await replayDeliveries(deps, replay) } };
    },
  }),
];
