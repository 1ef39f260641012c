import type { IncomingMessage } from 'node:http';
import Fastify, { type FastifyBaseLogger, type LogController } from 'fastify';
import fp from 'fastify-plugin';
import { validatorCompiler } from 'fastify-type-provider-zod';
import { jsonBody } from './body.ts';
import type { ApiDependencies } from './dependencies.ts';
import { answerClientError, answerErrors, answerFrameworkError } from './error-handler.ts';
import { malformedRequests } from './malformed-requests.ts';
import { createBoundedServer } from './pipelining.ts';
import type { Api } from './route.ts';

const bodyLimitBytes = 64 * 1024;

export interface HttpAppOptions {
  /** The id of a request, for the `x-request-id` header and the log. */
  requestIdOf: (request: IncomingMessage) => string;
  logController: LogController;
  /** True when a path with a trailing slash is the same route. False by default. */
  ignoreTrailingSlash?: boolean;
}

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
export function createHttpApp(
  deps: ApiDependencies,
  { requestIdOf, ignoreTrailingSlash = false, ...options }: HttpAppOptions,
): Api {
  const { MAX_WAIT_MS, TRUSTED_PROXIES } = deps.settings;
  const app: Api = Fastify({
    ...options,
    loggerInstance: deps.log as FastifyBaseLogger,
    bodyLimit: bodyLimitBytes,
    genReqId: requestIdOf,
    requestIdHeader: false,
    trustProxy: TRUSTED_PROXIES?.length ? [...TRUSTED_PROXIES] : false,
    forceCloseConnections: 'idle',
    // A request on an open connection is still answered while closing, and its connection closed afterwards.
    return503OnClosing: false,
    frameworkErrors: answerFrameworkError as never,
    clientErrorHandler: answerClientError,
    // Longer than any URL, so that an id of any length gets the same answer as other unknown ids.
    routerOptions: { maxParamLength: 16 * 1024, ignoreTrailingSlash },
    serverFactory: (handle) =>
      createBoundedServer(handle, {
        requireHostHeader: false,
        requestTimeout: MAX_WAIT_MS + 30_000,
        // Longer than load balancers keep an idle connection.
        keepAliveTimeoutMs: 72_000,
      }),
    schemaController: zodSchemas,
  }).withTypeProvider();
  app.decorate('deps', deps);
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
  answerErrors(app, deps.log);
  return app;
}

/** Checks every request for malformed content and an unsupported body, in this order. */
export const requestChecks = fp(
  async (app) => {
    await app.register(malformedRequests);
    await app.register(jsonBody);
  },
  { name: 'request-checks' },
);
