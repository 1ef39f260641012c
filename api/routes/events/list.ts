import { z } from 'zod';
import { publicEventTypes } from '../../../shared/refunds/model/event-types.ts';
import { onlyOnce, wholeNumber } from '../../http/query-parameters.ts';
import { readWaitPreference, waitingHeadersSchema } from '../../http/request-headers.ts';
import { errorResponses, jsonResponse, routePlugin } from '../../http/route.ts';
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

/** `GET /v1/events`: what happened to the caller's refunds, oldest first. */
export const listEventsRoute = routePlugin(
  { name: 'list-events', dependencies: ['authenticate'] },
  async (app) => {
    const { deps } = app;
    app.get(
      '/v1/events',
      {
        schema: {
          operationId: 'listEvents',
          summary: 'List events',
          description:
            'All events of all refunds, oldest first, without gaps or repeats: continue with `after` set to `nextAfter`. ' +
            'With `Prefer: wait=N` an empty page is sent only after N seconds; an event is sent as soon as there is one.',
          tags: ['Events'],
          security: [{ apiKey: ['refunds:read'] }],
          headers: waitingHeadersSchema,
          querystring: listEventsQuerySchema,
          response: {
            200: jsonResponse('One page of events.', eventPageSchema),
            ...errorResponses(),
          },
        },
      },
      async (request, reply) => {
        const { after, type, limit } = request.query;
        const { waitMs, applied } = readWaitPreference(request.headers.prefer, 0, deps.settings.MAX_WAIT_MS);
        if (applied !== null) reply.header('preference-applied', applied);
        return await deps.feed.read(
          request.apiKey,
          { after, type, limit },
          waitMs,
          request.deps.whileWaiting,
        );
      },
    );
  },
);
