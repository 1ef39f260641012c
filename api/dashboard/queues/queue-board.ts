import { createBullBoard } from '@bull-board/api';
import { BullMQAdapter } from '@bull-board/api/bullMQAdapter';
import { FastifyAdapter } from '@bull-board/fastify';
import type { FastifyInstance, FastifyRequest, RouteOptions } from 'fastify';
import { ServiceError } from '#shared/platform/errors.ts';
import { isStorable } from '#shared/platform/formats/json.ts';
import type { ApiDependencies } from '../../http/dependencies.ts';
import { answerErrors } from '../../http/error-handler.ts';
import { queueBoardPath } from '../http/paths.ts';
import { isReading, operatorRequired } from './board-access.ts';
import { boardContentSecurityPolicy, boardError, describeForUi, selfContained } from './board-responses.ts';

const prefix = queueBoardPath;

/** How long the board waits for a store that does not respond. */
const responseTimeoutMs = 4_000;

/**
 * Serves the queue board at /dashboard/queues. It only shows jobs: they are wake-ups, and what is due needs none.
 *
 * `app` handles ServiceErrors. It must not have `reply.view` or `reply.sendFile`, which the board adds.
 * @param allow whether the sender of a request may use the board; called first for every request. It may throw to respond differently.
 * The queues contain jobs of ALL organizations, so everyone who is admitted must be trusted by all of them.
 */
export async function registerQueueBoard(
  app: FastifyInstance,
  { queues, log }: Pick<ApiDependencies, 'queues' | 'log'>,
  allow: (request: FastifyRequest) => Promise<boolean>,
): Promise<void> {
  const board = new FastifyAdapter().setBasePath(prefix);
  createBullBoard({
    queues: queues.map((queue) => new BullMQAdapter(queue, { readOnlyMode: true })),
    serverAdapter: board,
    options: {
      uiConfig: {
        boardTitle: 'Queues',
        hideDocsLink: true,
        miscLinks: [{ text: 'Dashboard', url: '/dashboard' }],
      },
    },
  });
  await app.register(
    async (scope) => {
      answerErrors(scope, log);
      replaceErrorHandlers(scope, app);
      guard(scope, allow);
      scope.addHook('onSend', async (_request, reply, payload) => {
        const isPage = String(reply.getHeader('content-type')).startsWith('text/html');
        return isPage && typeof payload === 'string' ? selfContained(payload) : payload;
      });
      await scope.register(board.registerPlugin());
    },
    { prefix },
  );
}

/**
 * The board's own error handler reveals internals; a handler of the route takes precedence. Errors of pages go to `app`,
 * which may respond with a page, those of scripts become JSON.
 */
function replaceErrorHandlers(scope: FastifyInstance, app: FastifyInstance): void {
  scope.addHook('onRoute', (route: RouteOptions) => {
    const isForScripts = pathOf(route.url).startsWith('/api/');
    const { errorHandler } = isForScripts ? scope : app;
    route.errorHandler = (error, request, reply) => errorHandler(boardError(error), request, reply);
    if (isForScripts) route.handlerTimeout = responseTimeoutMs;
  });
}

function guard(scope: FastifyInstance, allow: (request: FastifyRequest) => Promise<boolean>): void {
  scope.addHook('onRequest', async (request, reply) => {
    reply.header('content-security-policy', boardContentSecurityPolicy);
    if (!(await allow(request))) throw operatorRequired();
    if (!isReading(request.method, pathOf(request.routeOptions.url ?? '')))
      throw new ServiceError('insufficient_scope', 'The queue board only shows jobs.');
    validateParameters(request);
  });
  scope.addHook('preSerialization', async (_request, _reply, payload) => describeForUi(payload));
}

const maxQuery = { page: 100_000, jobsPerPage: 100 };

/** @throws ServiceError for parameters that no store accepts. */
function validateParameters({ params, query }: FastifyRequest): void {
  const texts = Object.values(params as Record<string, string>);
  if (!texts.every(isStorable)) throw new ServiceError('not_found', 'Job not found.');
  for (const [name, limit] of Object.entries(maxQuery)) {
    const given = (query as Record<string, unknown>)[name];
    if (given === undefined || (/^\d{1,6}$/.test(String(given)) && Number(given) <= limit)) continue;
    throw new ServiceError('validation_error', `${name}: must be a number from 0 to ${limit}.`);
  }
}

/** A path below the prefix, as board-access.ts lists it. */
function pathOf(url: string): string {
  return url.slice(prefix.length) || '/';
}
