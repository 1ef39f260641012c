import { z } from 'zod';
import { readRefundEvents } from '../../../shared/events/refund-events.ts';
import { dataResponse, errorResponses, routePlugin } from '../../http/route.ts';
import { refundParamsSchema } from '../refunds/refund-schema.ts';
import { eventSchema } from './event-schema.ts';

/** `GET /v1/refunds/:id/events`: what happened to one refund, oldest first. */
export const refundEventsRoute = routePlugin(
  { name: 'refund-events', dependencies: ['authenticate'] },
  async (app) => {
    const { deps } = app;
    app.get(
      '/v1/refunds/:id/events',
      {
        schema: {
          operationId: 'listRefundEvents',
          summary: "List a refund's events",
          description: 'All events of one refund, oldest first.',
          tags: ['Events'],
          security: [{ apiKey: ['refunds:read'] }],
          params: refundParamsSchema,
          response: {
            200: dataResponse('The events of the refund.', z.array(eventSchema)),
            ...errorResponses('not_found'),
          },
        },
      },
      async (request) => ({ data: await readRefundEvents(deps.reads, request.apiKey, request.params.id) }),
    );
  },
);
