import { newRequestId } from '../shared/ids.ts';
import { callerOf, requireApiKey } from './authenticate.ts';
import type { ApiDependencies } from './dependencies.ts';
import { collectDescribedRoutes } from './described-routes.ts';
import { handOverUnknown, type SecondApp } from './hand-over.ts';
import { checkRequests, createHttpApp, setJsonHeaders } from './http-app.ts';
import { ignoreBodies } from './ignored-body.ts';
import { Admission } from './overload.ts';
import { limitRate } from './rate-limit.ts';
import { RequestLog } from './request-log.ts';
import type { Api } from './route.ts';
import { healthRoutes } from './routes/health.ts';
import { checkPolicyRoute } from './routes/policies/check.ts';
import { cancelRefundRoute } from './routes/refunds/cancel.ts';
import { createRefundRoute } from './routes/refunds/create.ts';
import { getRefundRoute } from './routes/refunds/get.ts';
import { listRefundsRoute } from './routes/refunds/list.ts';
import { challengeRoutes } from './routes/webhooks/challenge.ts';
import { receiveWebhookRoutes } from './routes/webhooks/receive.ts';
import { answerOtherMethods } from './unknown-routes.ts';

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
