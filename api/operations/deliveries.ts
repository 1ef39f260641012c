import { z } from 'zod';
import { rootEventType, testEventType } from '#shared/events/event.ts';
import { publicEventTypes } from '#shared/refunds/model/event-types.ts';
import {
  attemptErrors,
  deliveryStatuses,
  findDeliveries,
  maxReplayed,
  replayDeliveries,
  retryDelivery,
  sendTestEvent,
} from '#shared/webhooks/deliveries.ts';
import { replayMissing } from '#shared/webhooks/replay-missing.ts';
import {
  jsonObject,
  listOutput,
  nullableTimeOutput,
  offsetNumber,
  oneOf,
  pageOfList,
  required,
  timeOutput,
  wholeNumber,
} from './fields.ts';
import { operation } from './operation.ts';
import { endpointParamsSchema, endpointRequest, webhooks } from './webhook-endpoints.ts';

const errorList = Object.entries(attemptErrors)
  .map(([code, meaning]) => `\`${code}\`: ${meaning}`)
  .join(' ');

const exampleDelivery = {
  id: 'del_01kahw4f2vexrvhq3s8m7k1dpb',
  eventId: 'evt_01kahw3xs5fv2rj0c8m4t9p6ye',
  type: 'refund.completed',
  status: 'pending',
  nextAttemptAt: '2026-11-20T09:30:07.400Z',
  attempts: [
    {
      startedAt: '2026-11-20T09:30:02.150Z',
      durationMs: 84,
      responseStatus: 500,
      error: 'unsuccessful_status',
      responseBody: 'Internal Server Error',
    },
  ],
};

const attemptSchema = z.object({
  startedAt: timeOutput(),
  durationMs: z.int().nullable().describe('Null while it is under way, and when its worker was stopped.'),
  responseStatus: z.int().nullable().describe('The HTTP status; null without a response.'),
  error: z
    .string()
    .nullable()
    .describe(`Why it failed; null when it did not. More codes may follow. ${errorList}`),
  responseBody: z.string().nullable().describe('The beginning of the response.'),
});

const deliverySchema = z
  .object({
    id: z.string().describe('Opaque, prefixed with del_.'),
    eventId: z.string().describe('The event that is sent; the `webhook-id` of every attempt.'),
    type: z.enum([...publicEventTypes, rootEventType, testEventType]).describe('The type of the event.'),
    status: z
      .enum(deliveryStatuses)
      .describe(
        '`pending`: an attempt is under way or follows. `succeeded`: the endpoint replied 2xx. `failed`: no attempt follows.',
      ),
    nextAttemptAt: nullableTimeOutput(
      'When the next attempt is due. During an attempt: when it is repeated if its worker stops. Null if none follows.',
    ),
    attempts: z.array(attemptSchema).describe('The last 20, the oldest first.'),
  })
  .meta({
    id: 'WebhookDelivery',
    description: 'One event for one endpoint, with every attempt.',
    examples: [exampleDelivery],
  });

const deliveryParamsSchema = endpointParamsSchema.extend({
  deliveryId: z
    .string()
    .meta({ description: 'The id of the delivery, del_...', examples: [exampleDelivery.id] }),
});

const deliveryStatusSchema = oneOf(deliveryStatuses);

const listDeliveriesQuerySchema = z.object({
  status: deliveryStatusSchema.optional().describe('Only deliveries with this status.'),
  limit: wholeNumber('The maximum number of deliveries to return.', 1, 100, 25),
  offset: offsetNumber('The number of deliveries to skip.', 'filter by status to read fewer'),
});

const timeError = 'must be a time in ISO 8601, such as 2026-11-20T09:30:00Z';

const yearOf = (text: string) => new Date(text).getUTCFullYear();

const sinceInput = (description: string) =>
  z.iso
    .datetime({ offset: true, error: required(timeError) })
    .refine((text) => yearOf(text) >= 1970 && yearOf(text) <= 9999, { error: timeError })
    .describe(description);

const replaySchema = jsonObject({
  since: sinceInput('Deliveries created at this time or later.'),
  status: deliveryStatusSchema.default('failed').describe('Only deliveries with this status.'),
}).meta({ examples: [{ since: '2026-11-20T09:30:00.000Z' }] });

const replayMissingSchema = jsonObject({
  since: sinceInput('Events of this time or later.'),
}).meta({ examples: [{ since: '2026-11-20T09:30:00.000Z' }] });

const replayedSchema = z
  .object({ count: z.int().min(0).describe('How many deliveries are due now.') })
  .meta({ id: 'ReplayedWebhooks', examples: [{ count: 12 }] });

/** What is sent to an endpoint. */
export const deliveryOperations = [
  operation({
    ...webhooks,
    id: 'testWebhookEndpoint',
    route: 'POST /v1/webhook-endpoints/:id/test',
    summary: 'Send a test event',
    description:
      'Sends an event of the type `webhook.test` now, also if the filter of the endpoint leaves the type out. Its delivery is in the list of ' +
      'deliveries; the event is not in the feed. A disabled endpoint is refused. A body is ignored.',
    params: endpointParamsSchema,
    answer: 'The delivery, before its first attempt.',
    output: deliverySchema,
    run: async (deps, call) => await sendTestEvent(deps, endpointRequest(call)),
  }),

  operation({
    ...webhooks,
    id: 'listWebhookDeliveries',
    route: 'GET /v1/webhook-endpoints/:id/deliveries',
    summary: 'List deliveries',
    description: 'What was sent to the endpoint and what is pending, newest first, with every attempt.',
    params: endpointParamsSchema,
    query: listDeliveriesQuerySchema,
    answer: 'One page of deliveries.',
    output: listOutput(deliverySchema),
    hasData: true,
    async run(deps, { apiKey, params, query: { status, limit, offset } }) {
      const search = { status, limit: limit + 1, offset };
      const found = await deps.slowReads(apiKey.organizationId, () =>
        findDeliveries(deps.db, apiKey, params.id, search),
      );
      return pageOfList(
        found.map(({ delivery }) => delivery),
        limit,
      );
    },
  }),

  operation({
    ...webhooks,
    id: 'retryWebhookDelivery',
    route: 'POST /v1/webhook-endpoints/:id/deliveries/:deliveryId/retry',
    summary: 'Retry a delivery',
    description:
      'Attempts the delivery now, in place of the scheduled attempt; also one that succeeded or failed. While an attempt is ' +
      'under way, the next one follows as soon as it fails. A disabled endpoint is refused. A body is ignored.',
    params: deliveryParamsSchema,
    answer: 'The delivery, before the new attempt.',
    output: deliverySchema,
    run: async (deps, call) =>
      await retryDelivery(deps, { ...endpointRequest(call), deliveryId: call.params.deliveryId }),
  }),

  operation({
    ...webhooks,
    id: 'replayWebhookDeliveries',
    route: 'POST /v1/webhook-endpoints/:id/replay',
    summary: 'Replay deliveries',
    description:
      'Attempts the deliveries again that were created since a time: the failed ones, unless another status is given. At most ' +
      `${maxReplayed} at once, the oldest first. The events keep their ids. A disabled endpoint is refused.`,
    params: endpointParamsSchema,
    body: replaySchema,
    answer: 'The number of deliveries.',
    output: replayedSchema,
    async run(deps, call) {
      const { since, status } = call.body;
      const replay = { ...endpointRequest(call), since: new Date(since), status };
      return { count: await replayDeliveries(deps, replay) };
    },
  }),

  operation({
    ...webhooks,
    id: 'replayMissingWebhooks',
    route: 'POST /v1/webhook-endpoints/:id/replay-missing',
    summary: 'Send missing events',
    description:
      'Sends the events of the feed since a time that were never sent to the endpoint and match its filter, such as those that happened while it was ' +
      `disabled: in the order of the feed, and at most ${maxReplayed} at once. No event is sent twice by repeating it. \`since\` may be ` +
      'as long ago as deliveries are kept. A disabled endpoint is refused.',
    params: endpointParamsSchema,
    body: replayMissingSchema,
    answer: 'The number of deliveries.',
    output: replayedSchema,
    async run(deps, call) {
      const request = { ...endpointRequest(call), since: new Date(call.body.since) };
      return { count: await replayMissing(deps, request) };
    },
  }),
];
