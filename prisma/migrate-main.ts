import { ConfigError, loadDatabaseSettings } from '#shared/platform/config.ts';
import { MigrationError } from './migrate.ts';
import { prepareDatabase } from './prepare-database.ts';

/** Brings the database up to date as its owner, at DATABASE_OWNER_URL or else DATABASE_URL; run once before the new version starts. */
async function main(): Promise<void> {
  const { DATABASE_URL, DATABASE_OWNER_URL, REDIS_URL } = loadDatabaseSettings();
  const applied = await prepareDatabase({
    ownerUrl: DATABASE_OWNER_URL ?? DATABASE_URL,
    serviceUrl: DATABASE_OWNER_URL === null ? null : DATABASE_URL,
    redisUrl: REDIS_URL,
    log: (line) => console.log(line),
  });
  for (const name of applied ?? []) console.log(`Applied ${name}`);
  if (applied?.length === 0) console.log('The database is up to date.');
  if (DATABASE_OWNER_URL === null) {
    console.log(
      'The service owns its tables and could change the audit log. In production, set DATABASE_OWNER_URL as docs/security.md describes.',
    );
  }
}

try {
  await main();
} catch (error) {
  if (!(error instanceof ConfigError || error instanceof MigrationError)) throw error;
  console.error(error.message);
  process.exitCode = 1;
}
