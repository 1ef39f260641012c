import { type FastifyInstance, type FastifyReply, type FastifyRequest, LogController } from 'fastify';
import type { Logger } from '#shared/platform/log.ts';
import type { Metrics } from '#shared/platform/telemetry/metrics.ts';
import type { TracedRequest } from '#shared/platform/telemetry/telemetry.ts';

// What is recorded of requests: log lines, metrics and traces.

const maxPathLength = 200;

/** The query is not logged. Escapes in the path are resolved, because they would hide a key or card number from masking. */
function loggedRequest({ method, url, ip }: FastifyRequest): Record<string, unknown> {
  return { method, path: pathOf(url), remoteAddress: ip };
}

/** The path of a request as it is recorded, before it is redacted. */
export function pathOf(url: string): string {
  return unescaped(url.split('?')[0] ?? '').slice(0, maxPathLength);
}

function unescaped(path: string): string {
  if (!path.includes('%')) return path;
  try {
    return decodeURIComponent(path);
  } catch {
    return '[not a valid path]';
  }
}

/** Logs one line per request, once it is answered. */
export class RequestLog extends LogController {
  readonly #log: Logger;

  constructor(log: Logger) {
    super();
    // None of these fields has a secret's name; the finished line is masked like any other.
    this.#log = log.child({}, { redact: { paths: [] } });
  }

  override incomingRequest(): void {}

  override requestCompleted(error: Error | null, request: FastifyRequest, reply: FastifyReply): void {
    const { id: reqId } = request;
    const { statusCode, elapsedTime } = reply;
    // Rounded, because masking would examine a long run of decimals as a possible card number.
    const responseTime = Math.round(elapsedTime * 1_000) / 1_000;
    const line = { reqId, req: loggedRequest(request), res: { statusCode }, responseTime };
    if (error === null || error === undefined) this.#log.info(line, 'request completed');
    else this.#log.error({ ...line, err: error }, 'request errored');
  }
}

/**
 * Measures every request to a route that has an operation, under the operation's id: a path could be anything. Requests to other
 * routes, such as those of the dashboard, are not measured.
 */
export function measureRequests(
  app: FastifyInstance,
  { requestSeconds }: Pick<Metrics, 'requestSeconds'>,
): void {
  app.addHook('onResponse', (request, reply, done) => {
    const schema = request.routeOptions.schema as { operationId?: string } | undefined;
    const operation = schema?.operationId;
    if (operation !== undefined) {
      requestSeconds.observe({ operation, status: reply.statusCode }, reply.elapsedTime / 1_000);
    }
    done();
  });
}

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
