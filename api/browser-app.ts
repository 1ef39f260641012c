import { dashboardPath } from './dashboard/http/paths.ts';
import { redirectTrailingSlashes, refuseAddress } from './dashboard/unknown-addresses.ts';
import type { ApiDependencies } from './http/dependencies.ts';
import { checkRequests, createHttpApp, type HttpAppOptions } from './http/http-app.ts';
import { HandedOverLog } from './http/request-records.ts';
import { type ClassOfCallers, limitInProgress } from './http/room.ts';
import type { Api, DescribedRoute } from './http/route.ts';
import { pageSecurityHeaders } from './http/security-headers.ts';
import { refuseUnknownRoutes, withOtherMethodsRefused } from './http/unknown-routes.ts';

interface BrowserAppOptions extends Pick<HttpAppOptions, 'requestIdOf'> {
  /** The routes of the public API, for its reference. */
  described: readonly DescribedRoute[];
  people: ClassOfCallers;
  refuseEarlierWhileDelayed: (app: Api) => void;
}

/**
 * Builds the application for browsers: the dashboard, the queue board and the API reference. It answers 404 for every
 * other path. It does not listen: the API hands requests over to it.
 */
export async function buildBrowserApp(
  deps: ApiDependencies,
  { requestIdOf, described, people, refuseEarlierWhileDelayed }: BrowserAppOptions,
): Promise<Api> {
  // One after the other, so that requests are answered in between.
  const { openApi } = await import('./reference/openapi.ts');
  await import('./dashboard/queues/queue-board.ts');
  const { dashboard } = await import('./dashboard/dashboard.tsx');
  const app = createHttpApp(deps, { requestIdOf, logController: new HandedOverLog() });
  await pageSecurityHeaders(app);
  refuseEarlierWhileDelayed(app);
  checkRequests(app);
  redirectTrailingSlashes(app);
  refuseUnknownRoutes(app, refuseAddress);
  await withOtherMethodsRefused(app, refuseAddress, async () => {
    // Whoever opens the address of the service in a browser looks for the dashboard.
    app.get('/', async (_request, reply) => reply.redirect(dashboardPath));
    await openApi(app, described);
    await app.register(async (scope: Api) => {
      limitInProgress(scope, () => people);
      await dashboard(scope, { ...deps, db: deps.dashboardDb });
    });
  });
  await app.ready();
  return app;
}
