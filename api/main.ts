import { loadServiceSettings } from '../shared/config.ts';
import { databaseNow, openDatabase } from '../shared/db.ts';
import { openLog } from '../shared/log.ts';
import { runMain } from '../shared/run-main.ts';

runMain(async () => {
  const settings = loadServiceSettings();
  const log = openLog(settings.LOG_LEVEL, 'api');
  const db = openDatabase(settings.DATABASE_URL, settings.DATABASE_POOL_SIZE);
  // Connects to the database while the rest is loaded. A database that is gone is noticed by what needs it.
  databaseNow(db).catch(() => undefined);
  const { serve } = await import('./serve.ts');
  await serve(settings, log, db);
});
