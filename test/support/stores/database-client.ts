import type pg from 'pg';
import { StrictClient } from '../../../shared/platform/database.ts';

/**
 * Connects to a database for as long as the work takes. A PostgreSQL that ends meanwhile fails the statement alone, not
 * the run of the tests, because many of them end it on purpose.
 */
export async function withClient<T>(url: string, work: (client: pg.Client) => Promise<T>): Promise<T> {
  const client = new StrictClient({ connectionString: url });
  await client.connect();
  try {
    return await work(client);
  } finally {
    await client.end();
  }
}

/** The rows that a statement gives on a connection of its own. */
export async function query(url: string, sql: string) {
  return withClient(url, async (client) => (await client.query(sql)).rows);
}
