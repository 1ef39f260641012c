import pg from 'pg';
import { StrictClient } from '../../../shared/platform/strict-client.ts';
import { waitFor } from '../wait-for.ts';

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

export interface CreateOptions {
  /** The database to copy; nobody may be connected to it. */
  template?: string;
  /** Leaves a database of that name alone instead of failing. */
  ifMissing?: boolean;
}

/**
 * Creates a database on a server.
 * @param serverUrl of any database on that server, as a user who may create databases.
 * @returns the URL of the new database.
 */
export async function createDatabase(
  serverUrl: string,
  name: string,
  { template, ifMissing = false }: CreateOptions = {},
): Promise<string> {
  await withClient(serverUrl, async (client) => {
    if (ifMissing && (await exists(client, name))) return;
    // Through the log is faster than by file for a database as small as these.
    const copy = template === undefined ? '' : ` template ${pg.escapeIdentifier(template)} strategy wal_log`;
    await client.query(`create database ${pg.escapeIdentifier(name)}${copy}`);
  });
  return databaseUrl(serverUrl, name);
}

/** Drops a database, and with it the connections that are still open. */
export async function dropDatabase(serverUrl: string, name: string): Promise<void> {
  await withClient(serverUrl, (client) =>
    client.query(`drop database if exists ${pg.escapeIdentifier(name)} with (force)`),
  );
}

/** Makes a database the pattern that others are copied from: nobody can connect to it any more. */
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
 * Inserts one row by hand, past the service, to show what the database itself refuses.
 * @throws the error of PostgreSQL, with `code` and `constraint`.
 */
export async function insertRow(client: pg.Client, table: string, row: Row): Promise<void> {
  const columns = Object.keys(row).map((name) => pg.escapeIdentifier(name));
  const places = columns.map((_, index) => `$${index + 1}`);
  await client.query(
    `insert into ${pg.escapeIdentifier(table)} (${columns.join(', ')}) values (${places.join(', ')})`,
    Object.values(row),
  );
}

/** Waits until so many statements wait for a lock in the database of this connection, which may be in a transaction. */
export async function waitForLock(client: pg.Client, count = 1): Promise<void> {
  await waitFor(`${count} to wait for a lock`, async () => {
    // Within a transaction it would be looked at only once.
    await client.query('SELECT pg_stat_clear_snapshot()');
    const { rows } = await client.query(
      `SELECT 1 FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'`,
    );
    return rows.length >= count;
  });
}
