import { ConfigError, loadDatabaseSettings } from '../shared/platform/config.ts';
import { migrateQueueTables } from '../shared/platform/queues.ts';
import { MigrationError, migrate } from './migrate.ts';

/** Brings the database at DATABASE_URL up to date; run once before the new version starts. */
async function main(): Promise<void> {
  const { DATABASE_URL, REDIS_URL } = loadDatabaseSettings();
  const applied = await migrate(DATABASE_URL, { log: (line) => console.log(line) });
  for (const name of applied) console.log(`Applied ${name}`);
  // Without Redis the queues live here, too; with it their tables would only be empty.
  if (REDIS_URL === null) await migrateQueueTables(DATABASE_URL);
  if (applied.length === 0) console.log('The database is up to date.');
}

try {
  await main();
} catch (error) {
  if (!(error instanceof ConfigError || error instanceof MigrationError)) throw error;
  console.error(error.message);
  process.exitCode = 1;
}
