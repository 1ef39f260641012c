import { loadServiceSettings } from '../shared/config.ts';
import { openDatabase } from '../shared/db.ts';
import {
  closeDependencies,
  type Dependencies,
  openDependencies,
  untilClockStarted,
} from '../shared/dependencies.ts';
import { openLog } from '../shared/log.ts';
import { needsFirstOwner, setupCode } from '../shared/people/first-owner.ts';
import { runMain } from '../shared/run-main.ts';
import { closeOnSignal } from '../shared/shutdown.ts';
import { buildApp } from './app.ts';
import { RefundWatcher } from './refund-watcher.ts';

runMain(async () => {
  const settings = loadServiceSettings();
  const log = openLog(settings.LOG_LEVEL, 'api');
  const deps = openDependencies(settings, log);
  await untilClockStarted(deps);
  const dashboardDb = openDatabase(settings.DATABASE_URL, {
    poolSize: settings.DASHBOARD_POOL_SIZE,
    preparesStatements: settings.DATABASE_PREPARED_STATEMENTS,
  });
  const app = await buildApp({ ...deps, dashboardDb, watcher: new RefundWatcher(deps.reads) });
  closeOnSignal(log, settings.SHUTDOWN_TIMEOUT_MS, async () => {
    await app.close();
    await dashboardDb.$disconnect();
    await closeDependencies(deps);
  });
  await app.listen({ host: settings.HOST, port: settings.PORT });
  await inviteFirstOwner(deps);
});

/** While nobody can sign in, whoever reads the log may make the first owner; the code is of no use after that. */
async function inviteFirstOwner({ db, log, settings }: Dependencies): Promise<void> {
  if (!(await needsFirstOwner(db).catch(() => false))) return;
  log.warn(`nobody can sign in yet: open /dashboard/set-up and enter ${setupCode(settings.ENCRYPTION_KEY)}`);
}
