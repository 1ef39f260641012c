import { EventFeed } from '#shared/events/feed.ts';
import { openFairLimit } from '#shared/platform/concurrency/fair-limit.ts';
import { networkOf } from '#shared/platform/network.ts';
import { EventComparisons } from '#shared/refunds/lifecycle/processor-events.ts';
import { RefundWatcher } from '#shared/refunds/lifecycle/refund-watcher.ts';
import { dashboard } from './dashboard/dashboard.tsx';
import { dashboardPath } from './dashboard/http/paths.ts';
import { redirectTrailingSlashes, refuseAddress } from './dashboard/unknown-addresses.ts';
import { type AllPlaces, admit, openAllPlaces, type Places } from './http/admission.ts';
import { apiVersion } from './http/api-version.ts';
import { authenticate } from './http/authenticate.ts';
import { compression } from './http/compression.ts';
import type { ApiDependencies } from './http/dependencies.ts';
import { keepFailedRequests } from './http/failed-requests.ts';
import { checkRequests, createHttpApp } from './http/http-app.ts';
import { operationRoutes } from './http/operation-routes.ts';
import { refuseWhileDelayed } from './http/overload.ts';
import { limitKeys } from './http/rate-limit.ts';
import { measureRequests, traceRequests } from './http/request-records.ts';
import { type Api, collectDescribedRoutes, type DescribedRoute } from './http/route.ts';
import { jsonSecurityHeaders, pageSecurityHeaders } from './http/security-headers.ts';
import { refuseUnknownRoutes, withOtherMethodsRefused } from './http/unknown-routes.ts';
import { mcpRoute } from './mcp/route.ts';
import { operations } from './operations/operations.ts';
import { openApi } from './reference/openapi.ts';
import { healthRoutes } from './routes/health.ts';
import { processorWebhookRoutes } from './routes/processor-webhooks.ts';

/** Builds the HTTP application: the public API, and the pages for browsers. It does not listen yet. */
export async function buildApp(
  given: Omit<ApiDependencies, 'watcher' | 'feed' | 'events' | 'slowReads' | 'closing'>,
): Promise<Api> {
  const closing = new AbortController();
  const deps: ApiDependencies = {
    ...given,
    watcher: new RefundWatcher(given, closing.signal),
    feed: new EventFeed(given, closing.signal),
    events: new EventComparisons(given, closing.signal),
    slowReads: openFairLimit({ inAll: Math.max(1, given.settings.DASHBOARD_POOL_SIZE - 1), perOwner: 2 }),
    closing: closing.signal,
  };
  const app = createHttpApp(deps);
  measureRequests(app, deps.metrics);
  // Requests that wait get what is there now, so that closing does not wait for them.
  app.addHook('preClose', async () => closing.abort());
  const isDelayed = await refuseWhileDelayed(app, deps.settings.MAX_EVENT_LOOP_DELAY_MS);
  const places = openAllPlaces(deps.settings);
  const described: DescribedRoute[] = [];
  await app.register(async (scope: Api) => programs(scope, { places, isDelayed, described }));
  await app.register(async (scope: Api) => browsers(scope, { places, described }));
  return app;
}

interface Parts {
  places: AllPlaces;
  /** The routes of the public API, for its reference. */
  described: DescribedRoute[];
}

/** What programs call, in JSON: the public API, and what processors and load balancers send. */
async function programs(
  app: Api,
  { places, isDelayed, described }: Parts & { isDelayed: () => boolean },
): Promise<void> {
  collectDescribedRoutes(app, described);
  jsonSecurityHeaders(app);
  checkRequests(app);
  const throwRefusal = (_request: unknown, _reply: unknown, refusal: Error) => {
    throw refusal;
  };
  await withOtherMethodsRefused(app, throwRefusal, async () => {
    healthRoutes(app, () => isDelayed() || places.clients.working.isFull);
    await app.register(async (scope: Api) => processorWebhookRoutes(scope, places));
    await app.register(async (scope: Api) => publicApi(scope, places.clients));
  });
}

/** The routes for API keys. */
async function publicApi(app: Api, clients: Places): Promise<void> {
  compression(app);
  traceRequests(app);
  keepFailedRequests(app);
  await authenticate(app);
  await limitKeys(app);
  admit(app, ({ apiKey }) => ({ places: clients, owner: `${apiKey.organizationId}/${apiKey.environment}` }));
  // Its tools check the scopes themselves, and answer as the protocol demands.
  mcpRoute(app);
  await app.register(async (scope: Api) => {
    apiVersion(scope);
    await operationRoutes(scope, operations);
  });
}

/** What people open in a browser: the dashboard, the queue board and the API reference. Every unknown path is answered here. */
async function browsers(app: Api, { places, described }: Parts): Promise<void> {
  const { deps } = app;
  await pageSecurityHeaders(app);
  checkRequests(app);
  redirectTrailingSlashes(app);
  refuseUnknownRoutes(app, refuseAddress);
  await withOtherMethodsRefused(app, refuseAddress, async () => {
    // Whoever opens the address of the service in a browser looks for the dashboard.
    app.get('/', async (_request, reply) => reply.redirect(dashboardPath));
    await openApi(app, described);
    await app.register(async (scope: Api) => {
      admit(scope, ({ ip }) => ({ places: places.people, owner: networkOf(ip) }));
      await dashboard(scope, { ...deps, db: deps.dashboardDb });
    });
  });
}
