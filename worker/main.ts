import {
  closeDependencies,
  closeWhenRefused,
  openDependencies,
  untilClockStarted,
} from '#shared/dependencies.ts';
import { serveMetrics } from '#shared/health/serve-metrics.ts';
import { loadServiceSettings } from '#shared/platform/config.ts';
import { openLog } from '#shared/platform/log.ts';
import { closeOnSignal, runMain } from '#shared/platform/process.ts';
import { openTelemetry } from '#shared/platform/telemetry/telemetry.ts';
import { openPositionMarks } from '#shared/refunds/lifecycle/position-marks.ts';
import { startWorkers } from './start-workers.ts';

runMain(async () => {
  const settings = loadServiceSettings();
  const log = openLog(settings.LOG_LEVEL, 'worker');
  const positionMarks = openPositionMarks(settings, log);
  const telemetry = await openTelemetry(settings, log, 'worker');
  const deps = openDependencies(settings, log, { positionMarks, telemetry });
  await Promise.all([untilClockStarted(deps), positionMarks.read()]);
  const workers = startWorkers(deps);
  const metrics = await serveMetrics(deps, { main: deps.db, reads: deps.reads });
  closeOnSignal(log, settings.SHUTDOWN_TIMEOUT_MS, async () => {
    await workers.close();
    await metrics.close();
    await closeDependencies(deps);
  });
  closeWhenRefused(deps);
  log.info({ concurrency: settings.WORKER_CONCURRENCY }, 'working');
});
