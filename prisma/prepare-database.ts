import { migrateQueueTables } from '#shared/platform/queues.ts';
import { processorNames } from '#shared/processors/registry.ts';
import { migrate, withLock } from './migrate.ts';
import { grantServiceRole } from './service-role.ts';
import { collectStatistics } from './statistics.ts';

export interface DatabaseToPrepare {
  /** The database as the owner of its tables. */
  ownerUrl: string;
  /** The same database as the API and the worker use it; null when they use it as the owner. */
  serviceUrl: string | null;
  /** Where the queues are; null for the same database. */
  redisUrl: string | null;
  log: (line: string) => void;
}

/**
 * Brings a database up to date: tables, functions, queues, statistics, and the rights of the service.
 * @returns the names of the applied migrations, oldest first; null for the database of a newer version, which stays as it is.
 * @throws MigrationError
 */
export async function prepareDatabase(database: DatabaseToPrepare): Promise<string[] | null> {
  const { ownerUrl, serviceUrl, redisUrl, log } = database;
  const applied = await migrate(ownerUrl, { log });
  if (applied === null) return null;
  // With Redis their tables would only be empty.
  if (redisUrl === null) await withLock(ownerUrl, log, () => migrateQueueTables(ownerUrl, processorNames));
  if (serviceUrl !== null) await grantServiceRole(ownerUrl, serviceUrl, log);
  await collectStatistics(ownerUrl, { hasMigrated: applied.length > 0, log });
  return applied;
}
