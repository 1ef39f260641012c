import Fastify, { type FastifyBaseLogger, type FastifyInstance } from 'fastify';
import { validatorCompiler } from 'fastify-type-provider-zod';
import { ServiceError } from '#shared/platform/errors.ts';
import {
  checkingTexts,
  holdsStorableTexts,
  isStorable,
  unstorableMessage,
} from '#shared/platform/formats/json.ts';
import { inPieces } from '#shared/platform/formats/pieces.ts';
import { newRequestId } from '#shared/platform/ids.ts';
import { jsonBody } from './body.ts';
import type { ApiDependencies } from './dependencies.ts';
import { answerClientError, answerErrors, answerFrameworkError } from './error-handler.ts';
import { createBoundedServer } from './pipelining.ts';
import { RequestLog } from './request-records.ts';
import type { Api } from './route.ts';

const bodyLimitBytes = 64 * 1024;

/**
 * Schemas are zod's; given later, Fastify would also load the compilers for JSON schemas. Responses are serialized as they
 * are: they are built field by field, and their types are those of their schemas.
 */
const zodSchemas = {
  compilersFactory: {
    buildValidator: () => validatorCompiler as never,
    buildSerializer: () => (() => JSON.stringify) as never,
  },
};

/** Creates an application with the settings, request ids and error responses of this service, and no routes. */
export function createHttpApp(deps: ApiDependencies): Api {
  const { MAX_WAIT_MS, TRUSTED_PROXIES } = deps.settings;
  const app: FastifyInstance = Fastify({
    logController: new RequestLog(deps.log),
    loggerInstance: deps.log as FastifyBaseLogger,
    bodyLimit: bodyLimitBytes,
    genReqId: newRequestId,
    // A base URL that ends with a slash, and the path of an operation.
    rewriteUrl: ({ url = '' }) => url.replace(/^\/{2,}(?=v1\/)/, '/'),
    requestIdHeader: false,
    trustProxy: TRUSTED_PROXIES?.length ? [...TRUSTED_PROXIES] : false,
    forceCloseConnections: 'idle',
    // On a machine with too little CPU a slow start is better than none: its plugins wait for nothing else.
    pluginTimeout: 0,
    // A request on an open connection is still answered while closing, and its connection closed afterwards.
    return503OnClosing: false,
    frameworkErrors: answerFrameworkError as never,
    clientErrorHandler: answerClientError,
    // Longer than any URL, so that an id of any length gets the same answer as other unknown ids.
    routerOptions: { maxParamLength: 16 * 1024, ignoreTrailingSlash: true },
    serverFactory: (handle) =>
      createBoundedServer(handle, {
        requireHostHeader: false,
        requestTimeout: MAX_WAIT_MS + 30_000,
        idleTimeoutMs: MAX_WAIT_MS + 30_000,
        // Longer than load balancers keep an idle connection.
        keepAliveTimeoutMs: 72_000,
      }),
    schemaController: zodSchemas,
  }).withTypeProvider();
  app.decorate('deps', deps);
  app.decorateRequest('refusal', null);
  app.addHook('onRequest', (request, reply, done) => {
    reply.header('x-request-id', request.id);
    done();
  });
  // A kept-alive connection would keep a closing process alive, and have the rest of an unread body parsed chunk by chunk.
  app.addHook('onSend', ({ raw }, reply, payload, done) => {
    const isUnread = !raw.complete && raw.headers['transfer-encoding'] !== undefined;
    if (deps.closing.aborted || isUnread) reply.header('connection', 'close');
    done(null, payload);
  });
  // Without a listener Node answers an unknown Expect header itself, in another shape. HTTP allows ignoring it.
  app.server.on('checkExpectation', (request, response) => app.server.emit('request', request, response));
  answerErrors(app, deps.log);
  return app;
}

/** Headers of which Node keeps the first, while a proxy in front may keep the last. */
const onceOnly = new Set(['host', 'authorization', 'content-type', 'content-encoding']);

/**
 * Refuses requests that another server could read differently, bodies other than JSON, and text in a query or body that PostgreSQL
 * cannot store. Ids in a path are looked up like any other, and unknown.
 */
export function checkRequests(app: FastifyInstance): void {
  jsonBody(app);
  app.addHook('onRequest', ({ raw }, _reply, done) => {
    const problem = headerProblem(raw.rawHeaders, raw.httpVersion);
    done(problem === null ? undefined : new ServiceError('validation_error', problem));
  });
  app.addHook('preValidation', async ({ body, query }) => {
    const problem = (await textProblem('body', body)) ?? (await textProblem('query', query));
    if (problem !== null) throw new ServiceError('validation_error', problem);
  });
}

function headerProblem(rawHeaders: readonly string[], httpVersion: string): string | null {
  const seen = new Set<string>();
  for (let index = 0; index < rawHeaders.length; index += 2) {
    const name = rawHeaders[index]?.toLowerCase() ?? '';
    if (!onceOnly.has(name)) continue;
    if (seen.has(name)) return `${name}: send this header once.`;
    seen.add(name);
  }
  return httpVersion === '1.1' && !seen.has('host') ? 'host: HTTP/1.1 requires this header.' : null;
}

/** Names the field, or the place when the field's own name cannot be shown. */
async function textProblem(place: string, content: unknown): Promise<string | null> {
  if (await inPieces(checkingTexts(content))) return null;
  const isField = ([name, value]: [string, unknown]) => isStorable(name) && !holdsStorableTexts(value);
  const [field] = Array.isArray(content) ? [] : Object.entries(content ?? {}).filter(isField);
  return `${field?.[0].slice(0, 40) ?? place}: ${unstorableMessage}.`;
}
