import { redirectTrailingSlashes, refuseAddress } from './dashboard/unknown-addresses.ts';
import type { ApiDependencies } from './http/dependencies.ts';
import type { DescribedRoute } from './http/described-routes.ts';
import { checkRequests, createHttpApp, type HttpAppOptions, setSecurityHeaders } from './http/http-app.ts';
import type { Admission } from './http/overload.ts';
import { HandedOverLog } from './http/request-log.ts';
import type { Api } from './http/route.ts';
import { answerUnknownRoutes } from './http/unknown-routes.ts';

export interface BrowserAppOptions extends Pick<HttpAppOptions, 'requestIdOf'> {
  admission: Admission;
  /** The routes of the public API, for its reference. */
  described: readonly DescribedRoute[];
}

/**
 * Builds the application for browsers: the dashboard, the queue board and the API reference. It answers 404 for every
 * other path. It does not listen: the API hands requests over to it.
 */
export async function buildBrowserApp(
  deps: ApiDependencies,
  { requestIdOf, admission, described }: BrowserAppOptions,
): Promise<Api> {
  // One after the other: requests are answered in between.
  const { describeApi } = await import('./http/openapi.ts');
  await import('./dashboard/queues/queue-board.ts');
  const { dashboard } = await import('./dashboard/dashboard.tsx');
  const app = createHttpApp(deps, { requestIdOf, logController: new HandedOverLog() });
  await checkRequests(app, deps);
  redirectTrailingSlashes(app);
  const answerOtherMethods = answerUnknownRoutes(app, refuseAddress);
  await setSecurityHeaders(app);
  await describeApi(app, described);
  await app.register(async (scope: Api) => {
    admission.guard(scope);
    await dashboard(scope, { ...deps, db: deps.dashboardDb });
  });
  answerOtherMethods();
  await app.ready();
  return app;
}
