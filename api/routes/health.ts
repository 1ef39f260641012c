import { z } from 'zod';
import type { ApiDependencies } from '../dependencies.ts';
import type { Api } from '../route.ts';
import { jsonResponse } from '../schemas/response.ts';

const readyTimeoutMs = 2_000;

/**
 * `/healthz` says that the process runs; `/readyz` that it can take refunds, for which it needs the database. A queue
 * that is gone is told and is no reason to send clients away: what they create is processed when it is back.
 */
export function healthRoutes(app: Api, deps: ApiDependencies): void {
  const status = z.object({ status: z.literal('ok') });
  const readiness = z.object({
    status: z.enum(['ok', 'degraded', 'unavailable']),
    database: z.enum(['up', 'down']),
    queue: z.enum(['up', 'down']),
  });
  app.get(
    '/healthz',
    {
      schema: {
        operationId: 'health',
        summary: 'Liveness',
        description: 'Answers while the process runs, whatever became of the rest.',
        tags: ['Health'],
        response: { 200: jsonResponse('The process runs.', status) },
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
        description: '`degraded`: the queue is down; refunds are accepted and processed when it is back.',
        tags: ['Health'],
        response: {
          200: jsonResponse('Refunds are accepted.', readiness),
          503: jsonResponse('The database cannot be reached; nothing is accepted.', readiness),
        },
      },
    },
    async (_request, reply) => {
      const [database, queue] = await Promise.all([
        isUp(deps.db.$queryRaw`SELECT FROM refund LIMIT 1`),
        isUp(deps.queues.ping()),
      ]);
      if (database === 'down') {
        return reply.code(503).header('retry-after', 2).send({ status: 'unavailable', database, queue });
      }
      return { status: queue === 'up' ? ('ok' as const) : ('degraded' as const), database, queue };
    },
  );
}

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
