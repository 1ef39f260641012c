import type { FastifyRequest } from 'fastify';
import { EventFeed } from '#shared/events/feed.ts';
import { openFairLimit } from '#shared/platform/fair-limit.ts';
import { newRequestId } from '#shared/platform/ids.ts';
import { EventComparisons } from '#shared/refunds/lifecycle/processor-events.ts';
import { RefundWatcher } from '#shared/refunds/lifecycle/refund-watcher.ts';
import { handOverUnknown } from './hand-over.ts';
import { apiVersion } from './http/api-version.ts';
import { authenticate } from './http/authenticate.ts';
import { compression } from './http/compression.ts';
import type { ApiDependencies } from './http/dependencies.ts';
import { checkRequests, createHttpApp } from './http/http-app.ts';
import { operationRoutes } from './http/operation-routes.ts';
import { EventLoopDelay, refuseWhileDelayed } from './http/overload.ts';
import { limitKeys } from './http/rate-limit.ts';
import { measureRequests, RequestLog, traceRequests } from './http/request-records.ts';
import { type ClassOfCallers, limitInProgress, openClasses } from './http/room.ts';
import { type Api, collectDescribedRoutes } from './http/route.ts';
import { jsonSecurityHeaders } from './http/security-headers.ts';
import { withOtherMethodsRefused } from './http/unknown-routes.ts';
import { mcpRoute } from './mcp/route.ts';
import { operations } from './operations/operations.ts';
import { healthRoutes } from './routes/health.ts';
import { processorWebhookRoutes, VerifiedSenders } from './routes/processor-webhooks.ts';

/** The HTTP application in two parts. It does not listen yet. */
export interface App {
  /** Answers every request. Those outside the public API wait until the browser part is loaded. */
  app: Api;
  loadBrowserApp: () => Promise<unknown>;
}

/** Builds the public API and prepares the browser part, which takes longer to load. */
export async function buildApp(
  given: Omit<ApiDependencies, 'watcher' | 'feed' | 'events' | 'slowReads' | 'closing'>,
): Promise<App> {
  const closing = new AbortController();
  const deps: ApiDependencies = {
    ...given,
    watcher: new RefundWatcher(given, closing.signal),
    feed: new EventFeed(given, closing.signal),
    events: new EventComparisons(given, closing.signal),
    slowReads: openFairLimit({ inAll: Math.max(1, given.settings.DASHBOARD_POOL_SIZE - 1), perOwner: 2 }),
    closing: closing.signal,
  };
  const app = createHttpApp(deps, {
    requestIdOf: newRequestId,
    logController: new RequestLog(deps.log),
    ignoreTrailingSlash: true,
  });
  measureRequests(app, deps.metrics);
  // Requests that wait get what is there now, so that closing does not wait for them.
  app.addHook('preClose', async () => closing.abort());
  const { MAX_EVENT_LOOP_DELAY_MS: maxDelayMs } = deps.settings;
  const delay = new EventLoopDelay();
  app.addHook('onClose', async () => delay.close());
  const { clients, processors, unverified, people } = openClasses(deps.settings);
  // What anyone may send is refused before verified senders are, and these before clients are.
  const [unverifiedMs, verifiedMs] = [maxDelayMs / 4, maxDelayMs / 2];
  const refuseEarlierWhileDelayed = (scope: Api) => refuseWhileDelayed(scope, delay, () => unverifiedMs);
  const described = collectDescribedRoutes(app);
  const loadBrowserApp = handOverUnknown(app, async (requestIdOf) => {
    const { buildBrowserApp } = await import('./browser-app.ts');
    return await buildBrowserApp(deps, { requestIdOf, described, people, refuseEarlierWhileDelayed });
  });
  jsonSecurityHeaders(app);
  checkRequests(app);
  const throwRefusal = (_request: unknown, _reply: unknown, refusal: Error) => {
    throw refusal;
  };
  await withOtherMethodsRefused(app, throwRefusal, async () => {
    healthRoutes(app, () => delay.exceeds(maxDelayMs) || clients.work.isFull);
    await app.register(async (scope: Api) => {
      const senders = new VerifiedSenders();
      refuseWhileDelayed(scope, delay, (request) => (senders.has(request) ? verifiedMs : unverifiedMs));
      const classOf = (request: FastifyRequest) => (senders.has(request) ? processors : unverified);
      limitInProgress(scope, classOf, (request) => senders.ownerOf(request));
      await processorWebhookRoutes(scope, senders);
    });
    await app.register(async (scope: Api) => {
      refuseWhileDelayed(scope, delay, () => maxDelayMs);
      await publicApi(scope, clients);
    });
  });
  return { app, loadBrowserApp };
}

/** The routes for API keys. */
async function publicApi(app: Api, clients: ClassOfCallers): Promise<void> {
  compression(app);
  traceRequests(app);
  await authenticate(app);
  await limitKeys(app);
  const ownerOf = ({ apiKey }: FastifyRequest) => `${apiKey.organizationId}/${apiKey.environment}`;
  limitInProgress(app, () => clients, ownerOf);
  // Its tools check the scopes themselves, and answer as the protocol demands.
  mcpRoute(app);
  await app.register(async (scope: Api) => {
    apiVersion(scope);
    await operationRoutes(scope, operations);
  });
}
