import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { TracedRequest } from '#shared/platform/telemetry.ts';

declare module 'fastify' {
  interface FastifyRequest {
    /** The refund that this request created or would have created again; null for none. */
    created: TracedRequest['refund'];
  }
}

/** Records every request with a valid API key, and any that created a refund, as a span. Nothing is recorded for others. */
export function traceRequests(app: FastifyInstance): void {
  const { telemetry } = app.deps;
  app.decorateRequest('created', null);
  // Also runs when the client has gone meanwhile, unlike onResponse.
  app.addHook('onSend', (request, reply, payload, done) => {
    const refund = refundOf(request, reply);
    const { method, headers, routeOptions, apiKey } = request;
    if (refund !== null || apiKey !== undefined) {
      const { statusCode, elapsedTime } = reply;
      const route = routeOptions.url ?? null;
      telemetry.recordRequest({
        name: `${method} ${route ?? ''}`.trimEnd(),
        attributes: {
          'http.request.method': method,
          'http.route': route,
          'http.response.status_code': statusCode,
          'request.id': request.id,
          'refund.id': refund?.id ?? null,
        },
        lastedMs: elapsedTime,
        hasFailed: statusCode >= 500,
        traceparent: headers.traceparent,
        refund,
      });
    }
    done(null, payload);
  });
}

/** The refund that a request created or changed. Reads are left out: a client that polls would fill the trace with them. */
function refundOf({ created, method, params, routeOptions }: FastifyRequest, reply: FastifyReply) {
  const isChange = method !== 'GET' && routeOptions.url?.startsWith('/v1/refunds/:id/') === true;
  if (!isChange || reply.statusCode >= 300) return created;
  return { id: (params as { id: string }).id, isNew: false };
}
