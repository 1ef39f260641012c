import pg from 'pg';
import { StrictClient } from '#shared/platform/database.ts';
import { waitFor } from '../wait-for.ts';

/**
 * Connects to a database for the duration of the work. A PostgreSQL that ends meanwhile fails only the statement, because
 * many tests end it on purpose.
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

/** The rows of a statement. */
export async function query(url: string, sql: string) {
  return withClient(url, async (client) => (await client.query(sql)).rows);
}

export interface CreateOptions {
  /** The database to copy, to which no client may be connected. */
  template?: string;
  /** Keeps an existing database of that name instead of failing. */
  ifMissing?: boolean;
}

/**
 * Creates a database on a server.
 * @param serverUrl of any database on the server, as a user who may create databases.
 * @returns the URL of the new database.
 */
export async function createDatabase(
  serverUrl: string,
  name: string,
  { template, ifMissing = false }: CreateOptions = {},
): Promise<string> {
  await withClient(serverUrl, async (client) => {
    if (ifMissing && (await exists(client, name))) return;
    // Faster than by file for small databases.
    const copy = template === undefined ? '' : ` template ${pg.escapeIdentifier(template)} strategy wal_log`;
    await client.query(`create database ${pg.escapeIdentifier(name)}${copy}`);
  });
  return databaseUrl(serverUrl, name);
}

/** Makes a database a template, which accepts no connections. */
export async function sealTemplate(serverUrl: string, name: string): Promise<void> {
  await withClient(serverUrl, (client) =>
    client.query(`alter database ${pg.escapeIdentifier(name)} with is_template true allow_connections false`),
  );
}

async function exists(client: pg.Client, name: string): Promise<boolean> {
  const { rowCount } = await client.query('select from pg_database where datname = $1', [name]);
  return rowCount === 1;
}

function databaseUrl(serverUrl: string, name: string): string {
  const url = new URL(serverUrl);
  url.pathname = `/${encodeURIComponent(name)}`;
  return url.href;
}

/** Column values as `pg` takes them. */
export type Row = Record<string, unknown>;

/**
 * Inserts a row without the service, to test constraints.
 * @throws PostgreSQL's error, with `code` and `constraint`.
 */
export async function insertRow(client: pg.Client, table: string, row: Row): Promise<void> {
  const columns = Object.keys(row).map((name) => pg.escapeIdentifier(name));
  const places = columns.map((_, index) => `$${index + 1}`);
  await client.query(
    `insert into ${pg.escapeIdentifier(table)} (${columns.join(', ')}) values (${places.join(', ')})`,
    Object.values(row),
  );
}

/** Waits until `count` statements wait for a lock in the client's database. The client may be in a transaction. */
export async function waitForLock(client: pg.Client, count = 1): Promise<void> {
  await waitFor(`${count} statements to wait for a lock`, async () => {
    // Within a transaction the view would not change.
    await client.query('SELECT pg_stat_clear_snapshot()');
    const { rows } = await client.query(
      `SELECT 1 FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'`,
    );
    return rows.length >= count;
  });
}
