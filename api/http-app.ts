import type { IncomingMessage } from 'node:http';
import helmet from '@fastify/helmet';
import Fastify, { type FastifyBaseLogger, type LogController } from 'fastify';
import { serializerCompiler, validatorCompiler } from 'fastify-type-provider-zod';
import { refuseAmbiguousHeaders } from './ambiguous-headers.ts';
import type { ApiDependencies } from './dependencies.ts';
import { answerClientError, answerErrors, answerFrameworkError } from './error-handler.ts';
import { acceptJsonOnly } from './json-body.ts';
import { watchEventLoop } from './overload.ts';
import { loggedRequest } from './request-log.ts';
import type { Api } from './route.ts';
import { refuseUnstorableText } from './unstorable-text.ts';

/** The maximum size of a request body. */
const bodyLimitBytes = 64 * 1024;

export interface HttpAppOptions {
  /** The id of a request, for the `x-request-id` header and the log. */
  requestIdOf: (request: IncomingMessage) => string;
  /** Fastify's own by default. */
  logController?: LogController;
}

/** Set when the application is created: otherwise Fastify first loads ajv, which nothing uses. */
const zodSchemas = {
  compilersFactory: {
    buildValidator: () => validatorCompiler as never,
    buildSerializer: () => serializerCompiler as never,
  },
};

/** Creates an application with the settings, ids and error responses of this service, and no routes. */
export function createHttpApp(deps: ApiDependencies, { requestIdOf, ...options }: HttpAppOptions): Api {
  const app: Api = Fastify({
    ...options,
    loggerInstance: deps.log.child({}, { serializers: { req: loggedRequest } }) as FastifyBaseLogger,
    bodyLimit: bodyLimitBytes,
    genReqId: requestIdOf,
    requestIdHeader: false,
    // Whose word is taken for where a request came from, and whether that was over TLS.
    trustProxy: trustedProxies(deps.settings.TRUSTED_PROXIES),
    requestTimeout: deps.settings.MAX_WAIT_MS + 30_000,
    forceCloseConnections: 'idle',
    // What arrives on an open connection while closing is answered like any other request, and the connection closed.
    return503OnClosing: false,
    frameworkErrors: answerFrameworkError as never,
    clientErrorHandler: answerClientError,
    // Longer than any URL can be, so that an id of any length is answered like every other unknown id.
    routerOptions: { maxParamLength: 16 * 1024 },
    http: { requireHostHeader: false },
    schemaController: zodSchemas,
  }).withTypeProvider();
  app.addHook('onRequest', async (request, reply) => {
    reply.header('x-request-id', request.id);
  });
  // A connection that is kept alive would keep a closing process alive as well.
  app.addHook('onSend', async (_request, reply) => {
    if (deps.closing.aborted) reply.header('connection', 'close');
  });
  answerErrors(app, deps.log);
  return app;
}

/** Refuses requests that come during overload, are ambiguous, or hold what cannot be stored. */
export async function checkRequests(app: Api, deps: ApiDependencies): Promise<void> {
  await watchEventLoop(app, deps);
  refuseAmbiguousHeaders(app);
  acceptJsonOnly(app);
  refuseUnstorableText(app);
}

/** Sets the security headers of every response to a route that is registered from here on. */
export async function setSecurityHeaders(app: Api): Promise<void> {
  await app.register(helmet, {
    contentSecurityPolicy: {
      directives: {
        'upgrade-insecure-requests': null,
        'font-src': ["'self'", 'data:'],
        'style-src': ["'self'", "'unsafe-inline'"],
      },
    },
  });
}

function trustedProxies(addresses: readonly string[]): string[] | false {
  return addresses.length === 0 ? false : [...addresses];
}
