import { createBullBoard } from '@bull-board/api';
import { BullMQAdapter } from '@bull-board/api/bullMQAdapter';
import { FastifyAdapter } from '@bull-board/fastify';
import type { FastifyInstance, FastifyRequest, RouteOptions } from 'fastify';
import { ServiceError } from '../../../shared/platform/errors.ts';
import { isStorable } from '../../../shared/platform/json.ts';
import type { ApiDependencies } from '../../http/dependencies.ts';
import { answerErrors } from '../../http/error-handler.ts';
import { queueBoardPath } from '../http/paths.ts';
import { isSameOrigin } from '../http/same-origin.ts';
import { describeForUi, markReadOnly } from './board-answers.ts';
import type { BoardAct } from './board-audit.ts';
import { boardError, mayNotOrder } from './board-errors.ts';
import { accessDemanded, type BoardAccess } from './board-routes.ts';
import { boardContentSecurityPolicy, selfContained } from './entry-page.ts';

const prefix = queueBoardPath;

/** How long the board waits for a store that does not answer; a Redis that is frozen is given up after a second. */
const answerTimeoutMs = 4_000;

export interface QueueBoardOptions {
  /**
   * Decides what the sender of a request may do. It is asked before anything else is done for any request. To answer
   * somebody in a way of its own, such as with the way to the sign-in, it throws. The queues hold the refunds of ALL
   * organizations, if only their ids, so that whoever is let in has to be trusted by all of them.
   */
  allow: (request: FastifyRequest) => Promise<BoardAccess>;
  /** Writes down what somebody orders who may, before it is passed on; what it throws stops it. */
  audit: (request: FastifyRequest, act: BoardAct) => Promise<void>;
}

/**
 * Serves the board of the queues at /dashboard/queues. What anybody may do there is in board-routes.ts; everything else
 * that the board can do is refused here, whatever its pages offer.
 *
 * `app` answers a ServiceError. It may want no CSRF token, which the pages of the board do not send, and have neither
 * `reply.view` nor `reply.sendFile`: the board brings its own.
 */
export async function registerQueueBoard(
  app: FastifyInstance,
  { queues, log }: Pick<ApiDependencies, 'queues' | 'log'>,
  { allow, audit }: QueueBoardOptions,
): Promise<void> {
  const board = new FastifyAdapter().setBasePath(prefix);
  createBullBoard({
    queues: queues.map((queue) => new BullMQAdapter(queue)),
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
      answerLikeThisService(scope, app);
      guard(scope, allow);
      const queueNames = new Set(queues.map(({ name }) => name));
      scope.addHook('preHandler', async (request) => {
        const act = actOf(request);
        // The board answers that there is no such queue.
        if (act !== null && queueNames.has(act.queue)) await audit(request, act);
      });
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
 * The board has an error handler of its own, which tells what is internal; a handler of the route goes before it. Its
 * pages get what `app` makes of an error, which may be a page as well, and its scripts JSON.
 */
function answerLikeThisService(scope: FastifyInstance, app: FastifyInstance): void {
  scope.addHook('onRoute', (route: RouteOptions) => {
    const isForScripts = pathOf(route.url).startsWith('/api/');
    const { errorHandler } = isForScripts ? scope : app;
    route.errorHandler = (error, request, reply) => errorHandler(boardError(error), request, reply);
    if (isForScripts) route.handlerTimeout = answerTimeoutMs;
  });
}

function guard(scope: FastifyInstance, allow: QueueBoardOptions['allow']): void {
  const accessOf = new WeakMap<FastifyRequest, BoardAccess>();
  scope.addHook('onRequest', async (request, reply) => {
    reply.header('content-security-policy', boardContentSecurityPolicy);
    const access = await allow(request);
    refuseUnlessAllowed(request, access);
    refuseImpossible(request);
    accessOf.set(request, access);
  });
  scope.addHook('preSerialization', async (request, _reply, payload) =>
    accessOf.get(request) === 'operate' ? describeForUi(payload) : markReadOnly(describeForUi(payload)),
  );
}

/** @throws ServiceError when this is not for whoever has that access, or not for anybody. */
function refuseUnlessAllowed(request: FastifyRequest, access: BoardAccess): void {
  const demanded = accessDemanded(request.method, pathOf(request.routeOptions.url ?? ''));
  if (access === 'none')
    throw new ServiceError(
      'insufficient_scope',
      'The queues hold the jobs of every organization of this installation, and you do not belong to all of them.',
    );
  if (demanded === null) {
    throw new ServiceError('insufficient_scope', 'On this board jobs can only be retried and promoted.');
  }
  if (demanded === 'read') return;
  if (access !== 'operate') throw mayNotOrder();
  if (!isSameOrigin(request)) {
    throw new ServiceError('insufficient_scope', 'Use the pages of the board: another site sent this.');
  }
}

/** The highest page that a queue is leafed through to, and the most jobs of one. */
const most = { page: 100_000, jobsPerPage: 100 };

/** @throws ServiceError for what no store can look for. */
function refuseImpossible({ params, query }: FastifyRequest): void {
  const texts = Object.values(params as Record<string, string>);
  if (!texts.every(isStorable)) throw new ServiceError('not_found', 'There is no such job.');
  for (const [name, limit] of Object.entries(most)) {
    const given = (query as Record<string, unknown>)[name];
    if (given === undefined || (/^\d{1,6}$/.test(String(given)) && Number(given) <= limit)) continue;
    throw new ServiceError('validation_error', `${name}: must be a number from 0 to ${limit}.`);
  }
}

/** What a request orders; null for one that only looks. */
function actOf({ method, routeOptions, params }: FastifyRequest): BoardAct | null {
  const path = pathOf(routeOptions.url ?? '');
  if (accessDemanded(method, path) !== 'operate') return null;
  const { queueName = '', jobId = null } = params as { queueName?: string; jobId?: string };
  return { kind: path.endsWith('/promote') ? 'promotion' : 'retry', queue: queueName, jobId };
}

/** A path as board-routes.ts has it. */
function pathOf(url: string): string {
  return url.slice(prefix.length) || '/';
}
