import helmet from '@fastify/helmet';
import Fastify, { type FastifyBaseLogger } from 'fastify';
import { serializerCompiler, validatorCompiler } from 'fastify-type-provider-zod';
import { newRequestId } from '../shared/ids.ts';
import { refuseAmbiguousHeaders } from './ambiguous-headers.ts';
import { callerOf, requireApiKey } from './authenticate.ts';
import { dashboard } from './dashboard/dashboard.tsx';
import { redirectTrailingSlashes, refuseAddress } from './dashboard/unknown-addresses.ts';
import type { ApiDependencies } from './dependencies.ts';
import { answerClientError, answerErrors, answerFrameworkError } from './error-handler.ts';
import { ignoreBodies } from './ignored-body.ts';
import { acceptJsonOnly } from './json-body.ts';
import { describeApi } from './openapi.ts';
import { Admission, watchEventLoop } from './overload.ts';
import { limitRate } from './rate-limit.ts';
import { loggedRequest } from './request-log.ts';
import type { Api } from './route.ts';
import { healthRoutes } from './routes/health.ts';
import { checkPolicyRoute } from './routes/policies/check.ts';
import { cancelRefundRoute } from './routes/refunds/cancel.ts';
import { createRefundRoute } from './routes/refunds/create.ts';
import { getRefundRoute } from './routes/refunds/get.ts';
import { listRefundsRoute } from './routes/refunds/list.ts';
import { challengeRoutes } from './routes/webhooks/challenge.ts';
import { receiveWebhookRoutes } from './routes/webhooks/receive.ts';
import { answerUnknownRoutes } from './unknown-routes.ts';
import { refuseUnstorableText } from './unstorable-text.ts';

/** The most that a request body may have. */
const bodyLimitBytes = 64 * 1024;

/** Builds the HTTP application; it listens to nothing yet. */
export async function buildApp(deps: ApiDependencies): Promise<Api> {
  const app: Api = Fastify({
    loggerInstance: deps.log.child({}, { serializers: { req: loggedRequest } }) as FastifyBaseLogger,
    bodyLimit: bodyLimitBytes,
    genReqId: newRequestId,
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
  }).withTypeProvider();
  app.setValidatorCompiler(validatorCompiler);
  app.setSerializerCompiler(serializerCompiler);
  app.addHook('onRequest', async (request, reply) => {
    reply.header('x-request-id', request.id);
  });
  finishRequestsOnClose(app, deps);
  answerErrors(app, deps.log);
  await watchEventLoop(app, deps);
  refuseAmbiguousHeaders(app);
  acceptJsonOnly(app);
  refuseUnstorableText(app);
  redirectTrailingSlashes(app);
  const answerOtherMethods = answerUnknownRoutes(app, refuseAddress);
  await app.register(helmet, {
    contentSecurityPolicy: {
      directives: {
        'upgrade-insecure-requests': null,
        'font-src': ["'self'", 'data:'],
        'style-src': ["'self'", "'unsafe-inline'"],
      },
    },
  });
  await describeApi(app);
  const admission = new Admission(deps);
  healthRoutes(app, deps, () => app.isUnderPressure() || admission.isFull);
  await app.register(async (scope: Api) => {
    admission.guard(scope);
    await receiveWebhookRoutes(scope, deps);
    challengeRoutes(scope, deps);
  });
  await app.register(async (scope: Api) => {
    admission.guard(scope);
    requireApiKey(scope, deps);
    await limitRate(scope, deps, {
      max: deps.settings.RATE_LIMIT_PER_SECOND,
      subjectOf: (request) => callerOf(request).id,
    });
    createRefundRoute(scope, deps);
    getRefundRoute(scope, deps);
    listRefundsRoute(scope, deps);
    await scope.register(async (inner: Api) => {
      ignoreBodies(inner);
      cancelRefundRoute(inner, deps);
    });
    checkPolicyRoute(scope, deps);
  });
  await app.register(async (scope: Api) => {
    admission.guard(scope);
    await dashboard(scope, { ...deps, db: deps.dashboardDb });
  });
  answerOtherMethods();
  return app;
}

function trustedProxies(addresses: readonly string[]): string[] | false {
  return addresses.length === 0 ? false : [...addresses];
}

/**
 * Who waits for a verdict is answered with what is known, so that closing does not take as long as waiting. Clients
 * are told to leave: a connection that is kept alive would otherwise keep the process as well.
 */
function finishRequestsOnClose(app: Api, { watcher }: ApiDependencies): void {
  let closing = false;
  app.addHook('preClose', async () => {
    closing = true;
    watcher.close();
  });
  app.addHook('onSend', async (_request, reply) => {
    if (closing) reply.header('connection', 'close');
  });
}
