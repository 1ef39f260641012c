import { newRequestId } from '../shared/platform/ids.ts';
import { callerOf, requireApiKey } from './http/authenticate.ts';
import type { ApiDependencies } from './http/dependencies.ts';
import { collectDescribedRoutes } from './http/described-routes.ts';
import { handOverUnknown, type SecondApp } from './http/hand-over.ts';
import { checkRequests, createHttpApp, setJsonHeaders } from './http/http-app.ts';
import { ignoreBodies } from './http/ignored-body.ts';
import { Admission } from './http/overload.ts';
import { limitRate } from './http/rate-limit.ts';
import { RequestLog } from './http/request-log.ts';
import type { Api } from './http/route.ts';
import { answerOtherMethods } from './http/unknown-routes.ts';
import { healthRoutes } from './routes/health.ts';
import { checkPolicyRoute } from './routes/policies/check.ts';
import { challengeRoutes } from './routes/processor-webhooks/challenge.ts';
import { receiveWebhookRoutes } from './routes/processor-webhooks/receive.ts';
import { cancelRefundRoute } from './routes/refunds/cancel.ts';
import { createRefundRoute } from './routes/refunds/create.ts';
import { getRefundRoute } from './routes/refunds/get.ts';
import { listRefundsRoute } from './routes/refunds/list.ts';

/** The HTTP application, in two parts; it listens to nothing yet. */
export interface App {
  /** Answers every request. What is not of the public API waits until the part for browsers is loaded. */
  app: Api;
  browserApp: SecondApp;
}

/** Builds the public API, which is ready at once, and prepares the part for browsers, which takes longer to load. */
export async function buildApp(given: Omit<ApiDependencies, 'closing'>): Promise<App> {
  const closing = new AbortController();
  const deps: ApiDependencies = { ...given, closing: closing.signal };
  const app = createHttpApp(deps, { requestIdOf: newRequestId, logController: new RequestLog(deps.log) });
  app.addHook('preClose', async () => {
    closing.abort();
    // Who waits for a verdict is answered with what is known, so that closing does not take as long as waiting.
    deps.watcher.close();
  });
  const admission = new Admission(deps);
  const described = collectDescribedRoutes(app);
  const browserApp = handOverUnknown(app, async (requestIdOf) => {
    const { buildBrowserApp } = await import('./browser-app.ts');
    return await buildBrowserApp(deps, { requestIdOf, admission, described });
  });
  await checkRequests(app, deps);
  const answerOthers = answerOtherMethods(app, (_request, _reply, refusal) => {
    throw refusal;
  });
  setJsonHeaders(app);
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
  answerOthers();
  return { app, browserApp };
}
