import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, inject } from 'vitest';
import { templateDatabase } from '../processes/run-servers.ts';
import { createDatabase, dropDatabase } from './database-client.ts';

/**
 * Gives a test file, or a `describe` block, a migrated database of its own. To be called before the hooks that use
 * it, so that the database is dropped after they are done.
 * @returns a function that tells the database's URL once the tests run.
 */
export function useDatabase(): () => string {
  return useDatabaseNamed(`test_${randomUUID()}`, templateDatabase);
}

/** Like `useDatabase`, without tables. */
export function useEmptyDatabase(): () => string {
  return useDatabaseNamed(`empty_${randomUUID()}`);
}

function useDatabaseNamed(name: string, template?: string): () => string {
  let url: string | null = null;
  beforeAll(async () => {
    url = await createDatabase(inject('postgresUrl'), name, template === undefined ? {} : { template });
  });
  afterAll(() => dropDatabase(inject('postgresUrl'), name));
  return () => {
    if (url === null)
      throw new Error('The database is made in beforeAll; ask for its URL in a hook or a test.');
    return url;
  };
}
