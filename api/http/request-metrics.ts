import type { FastifyInstance } from 'fastify';
import type { Metrics } from '#shared/metrics/metrics.ts';

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
