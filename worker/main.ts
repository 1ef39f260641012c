import { loadServiceSettings } from '../shared/config.ts';
import { closeDependencies, openDependencies, untilClockStarted } from '../shared/dependencies.ts';
import { openLog } from '../shared/log.ts';
import { runMain } from '../shared/run-main.ts';
import { closeOnSignal } from '../shared/shutdown.ts';
import { startWorkers } from './start-workers.ts';

runMain(async () => {
  const settings = loadServiceSettings();
  const log = openLog(settings.LOG_LEVEL, 'worker');
  const deps = openDependencies(settings, log);
  await untilClockStarted(deps);
  const workers = startWorkers(deps);
  closeOnSignal(log, settings.SHUTDOWN_TIMEOUT_MS, async () => {
    await workers.close();
    await closeDependencies(deps);
  });
  log.info({ concurrency: settings.WORKER_CONCURRENCY }, 'working');
});
