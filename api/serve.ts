import {
  closeDependencies,
  closeWhenRefused,
  type Dependencies,
  openDependencies,
  untilClockStarted,
} from '#shared/dependencies.ts';
import { type MetricsListener, serveMetrics } from '#shared/health/serve-metrics.ts';
import { needsFirstOwner, setupCode } from '#shared/people/members/first-owner.ts';
import type { ServiceSettings } from '#shared/platform/config.ts';
import { openDatabase } from '#shared/platform/database.ts';
import type { Logger } from '#shared/platform/log.ts';
import { closeOnSignal } from '#shared/platform/process.ts';
import { openTelemetry } from '#shared/platform/telemetry/telemetry.ts';
import { buildApp } from './app.ts';

/** Serves the API and the dashboard until the process is stopped. */
export async function serve(settings: ServiceSettings, log: Logger): Promise<void> {
  const telemetry = await openTelemetry(settings, log, 'api');
  const deps = openDependencies(settings, log, { telemetry });
  const dashboardDb = openDatabase(settings.DATABASE_URL, {
    poolSize: settings.DASHBOARD_POOL_SIZE,
    settings,
  });
  const app = await buildApp({ ...deps, dashboardDb });
  await untilClockStarted(deps);
  let metrics: MetricsListener | null = null;
  closeOnSignal(log, settings.SHUTDOWN_TIMEOUT_MS, async () => {
    await app.close();
    await metrics?.close();
    await dashboardDb.$disconnect();
    await closeDependencies(deps);
  });
  closeWhenRefused(deps);
  await app.listen({ host: settings.HOST, port: settings.PORT });
  metrics = await serveMetrics(deps, { main: deps.db, reads: deps.reads, dashboard: dashboardDb });
  await inviteFirstOwner(deps);
}

/** Until the first owner exists, the operator who reads the log may create it; after that the code has no use. */
async function inviteFirstOwner({ db, log, settings }: Dependencies): Promise<void> {
  if (!(await needsFirstOwner(db).catch(() => false))) return;
  log.warn(`no user exists yet: open /dashboard/set-up and enter ${setupCode(settings.ENCRYPTION_KEY)}`);
}
