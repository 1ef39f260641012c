import { loadSettings } from '#shared/platform/config.ts';
import { type Database, openDatabase } from '#shared/platform/database.ts';

/** Longer than any machine takes for a statement, so that none runs out of time by chance. */
export const patient = {
  DATABASE_CONNECT_TIMEOUT_MS: 120_000,
  DATABASE_STATEMENT_TIMEOUT_MS: 120_000,
};

/** Opens a database that a test uses beside the service. */
export function openTestDatabase(databaseUrl: string, poolSize = 1): Database {
  return openDatabase(databaseUrl, { poolSize, settings: { ...loadSettings({}), ...patient } });
}
