import { z } from 'zod';
import { jsonResponse, responsesOf, routePlugin } from '../http/route.ts';

const readyTimeoutMs = 2_000;

const status = z.object({ status: z.literal('ok') });
const store = z.enum(['up', 'down']);
const ready = z.object({ status: z.enum(['ok', 'degraded']), database: store, queue: store });
const notReady = z.union([
  z.object({ status: z.literal('unavailable'), database: store, queue: store }),
  z.object({ status: z.literal('overloaded') }),
]);

/**
 * `/healthz`: the process runs. `/readyz`: it can accept refunds, which takes the database. Without the queue it still
 * can: refunds are processed once the queue is back. An overloaded process does not check either.
 */
export const healthRoutes = routePlugin<{ isOverloaded: () => boolean }>(
  { name: 'health' },
  async (app, { isOverloaded }) => {
    const { db, queues } = app.deps;
    app.get(
      '/healthz',
      {
        schema: {
          operationId: 'health',
          summary: 'Liveness',
          description: 'Responds while the process runs, whether or not its dependencies are available.',
          tags: ['Health'],
          security: [],
          response: { 200: jsonResponse('The process runs.', status), ...responsesOf(['validation_error']) },
        },
      },
      async () => ({ status: 'ok' as const }),
    );
    app.get(
      '/readyz',
      {
        schema: {
          operationId: 'readiness',
          summary: 'Readiness',
          description:
            '`degraded`: the queue is down; refunds are accepted and processed once it is back. ' +
            '`overloaded`: the process has too many requests.',
          tags: ['Health'],
          security: [],
          response: {
            200: jsonResponse('Refunds are accepted.', ready),
            ...responsesOf(['validation_error']),
            503: jsonResponse('The database is unavailable, or the process is overloaded.', notReady),
          },
        },
      },
      async (_request, reply) => {
        if (isOverloaded()) return reply.code(503).header('retry-after', 2).send({ status: 'overloaded' });
        const [database, queue] = await Promise.all([
          isUp(db.$queryRaw`SELECT FROM refund LIMIT 1`),
          isUp(queues.ping()),
        ]);
        if (database === 'down') {
          return reply.code(503).header('retry-after', 2).send({ status: 'unavailable', database, queue });
        }
        return { status: queue === 'up' ? ('ok' as const) : ('degraded' as const), database, queue };
      },
    );
  },
);

async function isUp(probe: Promise<unknown>): Promise<'up' | 'down'> {
  const timeout = AbortSignal.timeout(readyTimeoutMs);
  const expired = new Promise<'down'>((resolve) => {
    timeout.addEventListener('abort', () => resolve('down'));
  });
  const answered = probe.then(
    () => 'up' as const,
    () => 'down' as const,
  );
  return await Promise.race([answered, expired]);
}
