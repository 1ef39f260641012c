import {
  closeDependencies,
  type Dependencies,
  openDependencies,
  untilClockStarted,
} from '#shared/dependencies.ts';
import type { MetricsListener } from '#shared/metrics/serve-metrics.ts';
import type { ServiceSettings } from '#shared/platform/config.ts';
import { type Database, openDatabase } from '#shared/platform/database.ts';
import type { Logger } from '#shared/platform/log.ts';
import { openTelemetry } from '#shared/platform/telemetry.ts';
import { closeOnSignal } from '#shared/process.ts';
import { buildApp } from './app.ts';

/** After a restart, clients reconnect at once. Their requests are answered before the dashboard is loaded. */
const quietMs = 1_000;

/** Serves the API, and shortly after the dashboard, until the process is stopped. */
export async function serve(settings: ServiceSettings, log: Logger, db: Database): Promise<void> {
  const telemetry = await openTelemetry(settings, log, 'api');
  const deps = openDependencies(settings, log, { db, telemetry });
  const dashboardDb = openDatabase(settings.DATABASE_URL, {
    poolSize: settings.DASHBOARD_POOL_SIZE,
    settings,
  });
  const { app, loadBrowserApp } = await buildApp({ ...deps, dashboardDb });
  await untilClockStarted(deps);
  let metrics: MetricsListener | null = null;
  closeOnSignal(log, settings.SHUTDOWN_TIMEOUT_MS, async () => {
    await app.close();
    await metrics?.close();
    await dashboardDb.$disconnect();
    await closeDependencies(deps);
  });
  await app.listen({ host: settings.HOST, port: settings.PORT });
  // If loading fails, the API continues without the dashboard.
  const reportFailure = (error: unknown) => log.error({ err: error }, 'the dashboard could not be loaded');
  setTimeout(() => loadBrowserApp().catch(reportFailure), quietMs).unref();
  // Loaded once the API listens, as everything that requests do not need.
  const { serveMetrics } = await import('#shared/metrics/serve-metrics.ts');
  metrics = await serveMetrics(deps, { main: deps.db, reads: deps.reads, dashboard: dashboardDb });
  await inviteFirstOwner(deps);
}

/** Until the first owner exists, the operator who reads the log may create it; after that the code has no use. */
async function inviteFirstOwner({ db, log, settings }: Dependencies): Promise<void> {
  const { needsFirstOwner, setupCode } = await import('#shared/people/members/first-owner.ts');
  if (!(await needsFirstOwner(db).catch(() => false))) return;
  log.warn(`no user exists yet: open /dashboard/set-up and enter ${setupCode(settings.ENCRYPTION_KEY)}`);
}
