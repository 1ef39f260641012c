import type { IncomingMessage } from 'node:http';
import helmet from '@fastify/helmet';
import Fastify, { type FastifyBaseLogger, type LogController } from 'fastify';
import { validatorCompiler } from 'fastify-type-provider-zod';
import { refuseAmbiguousHeaders } from './ambiguous-headers.ts';
import type { ApiDependencies } from './dependencies.ts';
import { answerClientError, answerErrors, answerFrameworkError } from './error-handler.ts';
import { acceptJsonOnly } from './json-body.ts';
import { watchEventLoop } from './overload.ts';
import type { Api } from './route.ts';
import { refuseUnstorableText } from './unstorable-text.ts';

/** The maximum size of a request body. */
const bodyLimitBytes = 64 * 1024;

export interface HttpAppOptions {
  /** The id of a request, for the `x-request-id` header and the log. */
  requestIdOf: (request: IncomingMessage) => string;
  logController: LogController;
}

/**
 * Schemas are zod's. Fastify would also load what compiles JSON schemas if it was told so after the application exists.
 * Responses are written as they are: what a response holds is built field by field, and its type is that of its schema.
 */
const zodSchemas = {
  compilersFactory: {
    buildValidator: () => validatorCompiler as never,
    buildSerializer: () => (() => JSON.stringify) as never,
  },
};

/** Creates an application with the settings, ids and error responses of this service, and no routes. */
export function createHttpApp(deps: ApiDependencies, { requestIdOf, ...options }: HttpAppOptions): Api {
  const app: Api = Fastify({
    ...options,
    loggerInstance: deps.log as FastifyBaseLogger,
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
  app.addHook('onRequest', (request, reply, done) => {
    reply.header('x-request-id', request.id);
    done();
  });
  // A connection that is kept alive would keep a closing process alive as well.
  app.addHook('onSend', (_request, reply, payload, done) => {
    if (deps.closing.aborted) reply.header('connection', 'close');
    done(null, payload);
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

/** What responses of JSON need: a browser that is led to one shows nothing of it, and guesses nothing. */
const jsonHeaders = {
  'content-security-policy': "default-src 'none'; frame-ancestors 'none'",
  'cross-origin-resource-policy': 'same-origin',
  'referrer-policy': 'no-referrer',
  'strict-transport-security': 'max-age=31536000; includeSubDomains',
  'x-content-type-options': 'nosniff',
  'x-frame-options': 'DENY',
};

/** Sets the security headers of every response of an application that answers in JSON alone. */
export function setJsonHeaders(app: Api): void {
  app.addHook('onRequest', (_request, reply, done) => {
    reply.headers(jsonHeaders);
    done();
  });
}

/** Sets the security headers of every page that is registered from here on. */
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
