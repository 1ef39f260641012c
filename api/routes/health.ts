import { z } from 'zod';
import type { ApiDependencies } from '../http/dependencies.ts';
import { answeredUnderLoad } from '../http/overload.ts';
import { jsonResponse } from '../http/response-schema.ts';
import type { Api } from '../http/route.ts';

const readyTimeoutMs = 2_000;

/**
 * `/healthz` says that the process runs; `/readyz` that it can take refunds, for which it needs the database. A queue
 * that is gone is told and is no reason to send clients away: what they create is processed when it is back. With too
 * much to do nothing else is looked at, and clients are better sent to another process.
 */
export function healthRoutes(app: Api, deps: ApiDependencies, isOverloaded: () => boolean): void {
  const status = z.object({ status: z.literal('ok') });
  const store = z.enum(['up', 'down']);
  const ready = z.object({ status: z.enum(['ok', 'degraded']), database: store, queue: store });
  const notReady = z.union([
    z.object({ status: z.literal('unavailable'), database: store, queue: store }),
    z.object({ status: z.literal('overloaded') }),
  ]);
  app.get(
    '/healthz',
    {
      config: answeredUnderLoad,
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
      config: answeredUnderLoad,
      schema: {
        operationId: 'readiness',
        summary: 'Readiness',
        description:
          '`degraded`: the queue is down; refunds are accepted and processed when it is back. ' +
          '`overloaded`: there is more to do than this process can.',
        tags: ['Health'],
        response: {
          200: jsonResponse('Refunds are accepted.', ready),
          503: jsonResponse('The database cannot be reached, or there is too much to do.', notReady),
        },
      },
    },
    async (_request, reply) => {
      if (isOverloaded()) return reply.code(503).header('retry-after', 2).send({ status: 'overloaded' });
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
