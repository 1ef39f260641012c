import pg from 'pg';

/** Connects to a database for as long as the work takes. */
export async function withClient<T>(url: string, work: (client: pg.Client) => Promise<T>): Promise<T> {
  const client = new pg.Client({ connectionString: url });
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
