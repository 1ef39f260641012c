import { randomUUID } from 'node:crypto';
import { beforeAll, inject } from 'vitest';
import { templateDatabase } from '../processes/run-servers.ts';
import { createDatabase } from './database-client.ts';

/**
 * Gives a test file, or a `describe` block, a migrated database. Call it before the hooks that use it. The database is kept
 * until its server ends: dropping one costs a checkpoint and hundreds of deleted files, which on ext4 without a journal make
 * it several times slower to create the next ones.
 * @returns the database's URL, for use in hooks and tests.
 */
export function useDatabase(): () => string {
  return useDatabaseNamed(`test_${randomUUID()}`, templateDatabase);
}

/** The same without tables. */
export function useEmptyDatabase(): () => string {
  return useDatabaseNamed(`empty_${randomUUID()}`);
}

function useDatabaseNamed(name: string, template?: string): () => string {
  let url: string | null = null;
  beforeAll(async () => {
    url = await createDatabase(inject('postgresUrl'), name, template === undefined ? {} : { template });
  });
  return () => {
    if (url === null)
      throw new Error('The database is created in beforeAll. Use its URL in a hook or a test.');
    return url;
  };
}
