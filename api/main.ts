import { loadApiSettings } from '#shared/platform/config.ts';
import { openDatabase, serviceTime } from '#shared/platform/database.ts';
import { openLog } from '#shared/platform/log.ts';
import { runMain } from '#shared/process.ts';

runMain(async () => {
  const settings = loadApiSettings();
  const log = openLog(settings.LOG_LEVEL, 'api');
  const db = openDatabase(settings.DATABASE_URL, { poolSize: settings.DATABASE_POOL_SIZE, settings });
  // Connects to the database while the rest is loaded. Errors are reported by the first query that needs it.
  serviceTime(db).catch(() => undefined);
  const { serve } = await import('./serve.ts');
  await serve(settings, log, db);
});
