import { z } from 'zod';
import { type ProcessorPlace, readHealthInTime, type ServiceHealth } from '#shared/health/read-health.ts';
import { isUnanswered } from '#shared/health/trouble.ts';
import { environments } from '#shared/platform/environment.ts';
import { type QueueTrouble, queueTroubles } from '#shared/platform/redis-trouble.ts';
import { answersAlways } from '../http/overload.ts';
import { type Api, jsonResponse, responsesOf } from '../http/route.ts';

const readyTimeoutMs = 2_000;

const status = z.object({ status: z.literal('ok') });
const store = z.enum(['up', 'down']);
const ready = z.object({
  status: z.enum(['ok', 'degraded']),
  database: store,
  queue: store,
  queueTrouble: z
    .enum(Object.keys(queueTroubles) as QueueTrouble[])
    .nullable()
    .describe(
      'Why the queue is down; or, while it is up, `evicts`: its Redis may remove what is queued, or `shared_prefix`: another installation uses it.',
    ),
  workers: z
    .enum(['up', 'down', 'held'])
    .describe(
      '`down`: no worker was seen in the last 20 seconds. `held`: the database was restored, and nothing is sent until a recovery.',
    ),
  processors: z
    .array(
      z.object({
        processor: z.string(),
        environment: z.enum(environments),
        trouble: z.enum(['unanswered', 'credentials_refused']),
      }),
    )
    .describe('Processors with an account in trouble.'),
});
const allUp = { database: 'up', queue: 'up', queueTrouble: null, workers: 'up' } as const;
const readyExamples = {
  ok: { value: { status: 'ok' as const, ...allUp, processors: [] } },
  degraded: {
    value: {
      ...{ status: 'degraded' as const, ...allUp },
      processors: [{ processor: 'stripe', environment: 'live' as const, trouble: 'unanswered' as const }],
    },
  },
};

const notReady = z.union([
  z.object({ status: z.literal('unavailable'), database: store, queue: store }),
  z.object({ status: z.literal('overloaded') }),
]);

/**
 * `/healthz`: the process runs. `/readyz`: it can accept refunds, which takes the database. Without the queue, a worker or a processor
 * it still can: refunds are processed once these are back, and taking the API out as well would refuse them. An overloaded process
 * checks nothing.
 */
export function healthRoutes(app: Api, isOverloaded: () => boolean): void {
  const { db, queues, health } = app.deps;
  app.get(
    '/healthz',
    {
      config: answersAlways,
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
      config: answersAlways,
      schema: {
        operationId: 'readiness',
        summary: 'Readiness',
        description:
          '`degraded`: the queue is down, no worker runs or may send, or a processor answers nothing; refunds are accepted and ' +
          'processed later. Refused credentials are named and degrade nothing: they concern one account. ' +
          '`overloaded`: the process has too many requests.',
        tags: ['Health'],
        security: [],
        response: {
          200: jsonResponse('Refunds are accepted.', ready, readyExamples),
          ...responsesOf(['validation_error']),
          503: jsonResponse('The database is unavailable, or the process is overloaded.', notReady),
        },
      },
    },
    async (_request, reply) => {
      if (isOverloaded()) return reply.code(503).header('retry-after', 2).send({ status: 'overloaded' });
      const [database, queueTrouble, state] = await Promise.all([
        isUp(db.$queryRaw`SELECT FROM refund LIMIT 1`),
        queues.check(),
        readHealthInTime(health),
      ]);
      const queue = queueTrouble === null || isMinor(queueTrouble) ? ('up' as const) : ('down' as const);
      if (database === 'down') {
        return reply.code(503).header('retry-after', 2).send({ status: 'unavailable', database, queue });
      }
      const workers = workersOf(state);
      const processors = state === null ? [] : troublesOf(state);
      const isDegraded =
        queue === 'down' || workers !== 'up' || processors.some(({ trouble }) => trouble === 'unanswered');
      return {
        status: isDegraded ? ('degraded' as const) : ('ok' as const),
        database,
        queue,
        queueTrouble,
        workers,
        processors,
      };
    },
  );
}

/** Wake-ups may get lost, and workers find what is due a second later. */
function isMinor(trouble: QueueTrouble): boolean {
  return trouble === 'evicts' || trouble === 'shared_prefix';
}

function workersOf(state: ServiceHealth | null): 'up' | 'down' | 'held' {
  if (state?.workers.heldSince != null) return 'held';
  return (state?.workers.alive ?? 0) > 0 ? 'up' : 'down';
}

/** Each processor and environment once per trouble, without what concerns one organization. */
function troublesOf({ accountsInTrouble, misconfigured, now }: ServiceHealth) {
  const unanswered = accountsInTrouble.filter((account) => isUnanswered(account, now));
  const places = new Map(unanswered.map((place) => [`${place.processor} ${place.environment}`, place]));
  return [
    ...[...places.values()].map((place) => troubleAt(place, 'unanswered')),
    ...misconfigured.map((place) => troubleAt(place, 'credentials_refused')),
  ];
}

function troubleAt<Trouble extends string>({ processor, environment }: ProcessorPlace, trouble: Trouble) {
  return { processor, environment, trouble };
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
