import { z } from 'zod';
import { readRefundEvents } from '../../../shared/events/refund-events.ts';
import { publicEventTypes } from '../../../shared/refunds/model/event-types.ts';
import { operation } from '../../http/operation.ts';
import { onlyOnce, wholeNumber } from '../../http/query-parameters.ts';
import { waitingHeadersSchema } from '../../http/request-headers.ts';
import { dataResponse, jsonResponse } from '../../http/route.ts';
import { refundParamsSchema } from '../refunds/refund-schema.ts';
import { eventSchema, exampleEvent } from './event-schema.ts';

const listEventsQuerySchema = z.object({
  after: z
    .string({ error: onlyOnce })
    .optional()
    .meta({
      description: 'The id of the event to continue after: `nextAfter` of the previous page.',
      examples: [exampleEvent.id],
    }),
  limit: wholeNumber('The maximum number of events to return.', 1, 100, 25),
  type: z
    .enum(publicEventTypes, { error: `must be one of: ${publicEventTypes.join(', ')}` })
    .optional()
    .meta({ description: 'Only events of this type.' }),
});

const eventPageSchema = z.object({
  data: z.array(eventSchema),
  nextAfter: z
    .string()
    .nullable()
    .meta({
      description: 'Pass it as `after` to continue. Null only when there is no event yet.',
      examples: [exampleEvent.id],
    }),
  hasMore: z.boolean().meta({ description: 'Whether more events are available now.' }),
});

export const eventOperations = [
  operation({
    id: 'listRefundEvents',
    method: 'GET',
    path: '/v1/refunds/:id/events',
    scope: 'refunds:read',
    tag: 'Events',
    summary: "List a refund's events",
    description: 'All events of one refund, oldest first.',
    params: refundParamsSchema,
    response: dataResponse('The events of the refund.', z.array(eventSchema)),
    run: async (deps, { apiKey, params }) => ({
      data: await readRefundEvents(deps.reads, apiKey, params.id),
    }),
  }),

  operation({
    id: 'listEvents',
    method: 'GET',
    path: '/v1/events',
    scope: 'refunds:read',
    tag: 'Events',
    summary: 'List events',
    description:
      'All events of all refunds, oldest first, without gaps or repeats: continue with `after` set to `nextAfter`. ' +
      'With `Prefer: wait=N` an empty page is sent only after N seconds; an event is sent as soon as there is one.',
    headers: waitingHeadersSchema,
    query: listEventsQuerySchema,
    response: jsonResponse('One page of events.', eventPageSchema),
    run: async ({ feed, whileWaiting }, { apiKey, query: { after, type, limit }, waitMs }) =>
      await feed.read(apiKey, { after, type, limit }, waitMs(0), whileWaiting),
  }),
];
