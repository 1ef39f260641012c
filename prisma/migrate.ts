import { createHash, randomUUID } from 'node:crypto';
import pg from 'pg';
import { prismaFolder, readFunctions, readMigrations, type SqlFile } from './migrations-folder.ts';

/** The database could not be brought up to date; `message` says why and holds no password. */
export class MigrationError extends Error {
  override readonly name = 'MigrationError';
}

export interface MigrateOptions {
  /** Called when another process is migrating the database. */
  log?: (line: string) => void;
  /** The folder of `migrations/` and `functions/`; the project's own by default. */
  folder?: string;
}

/** An arbitrary constant; Prisma itself uses 72707369. */
const lockKey = 724_366_101;

/**
 * Applies the missing migrations, then creates or replaces every function. Several processes may call it at the same time: one
 * works, the others wait for it.
 *
 * All of it is one transaction, with the rows of Prisma's history, so that running processes never meet the new tables with the
 * old functions. It cannot contain what PostgreSQL refuses inside a transaction, such as CREATE INDEX CONCURRENTLY.
 *
 * @returns the names of the applied migrations, oldest first.
 * @throws MigrationError when the database cannot be opened, a script fails, or a migration was edited after it was applied.
 */
export async function migrate(
  databaseUrl: string,
  { log = () => {}, folder = prismaFolder }: MigrateOptions = {},
): Promise<string[]> {
  const migrations = readMigrations(folder);
  const functions = readFunctions(folder);
  return await withLock(databaseUrl, log, async (client) => {
    await openHistory(client);
    const missing = await findMissing(client, migrations);
    await apply(client, missing, functions);
    return missing.map(({ name }) => name);
  });
}

/** Connects to a database and does the work while no other process migrates it. */
export async function withLock<Result>(
  databaseUrl: string,
  log: (line: string) => void,
  work: (client: pg.Client) => Promise<Result>,
): Promise<Result> {
  const client = await connect(databaseUrl);
  try {
    await lock(client, log);
    return await work(client);
  } finally {
    // Closing the connection also releases the lock.
    await client.end().catch(() => {});
  }
}

async function connect(databaseUrl: string): Promise<pg.Client> {
  let client: pg.Client | undefined;
  try {
    client = new pg.Client({
      connectionString: databaseUrl,
      connectionTimeoutMillis: 10_000,
      application_name: 'migrate',
    });
    // The next query reports a connection that broke while idle. An unhandled event would end the process.
    client.on('error', () => {});
    await client.connect();
    return client;
  } catch (error) {
    await client?.end().catch(() => {});
    const where = client === undefined ? '' : ` "${client.database}" at ${client.host}:${client.port}`;
    throw new MigrationError(`Cannot open the database${where}: ${reasonOf(error)}`);
  }
}

async function lock(client: pg.Client, log: (line: string) => void): Promise<void> {
  const { rows } = await client.query('SELECT pg_try_advisory_lock($1) AS locked', [lockKey]);
  if (rows[0].locked) return;
  log('Another process is migrating this database; waiting for it.');
  await client.query(`SET lock_timeout = '10min'`);
  try {
    await client.query('SELECT pg_advisory_lock($1)', [lockKey]);
  } catch (error) {
    throw new MigrationError(
      `Another process has been migrating this database for too long: ${reasonOf(error)}`,
    );
  }
  await client.query('RESET lock_timeout');
}

/** Prisma's own table, so that `prisma migrate deploy` understands the history. */
async function openHistory(client: pg.Client): Promise<void> {
  const { rows } = await client.query(
    `SELECT to_regclass('_prisma_migrations') IS NOT NULL AS has_history, current_user AS role,
            has_table_privilege(to_regclass('_prisma_migrations'), 'INSERT') AS may_migrate,
            EXISTS (SELECT FROM pg_tables WHERE schemaname = current_schema()) AS has_tables`,
  );
  if (rows[0].has_history && rows[0].may_migrate) return;
  if (rows[0].has_history) {
    throw new MigrationError(
      `The role "${rows[0].role}" does not own the tables of this database. Set DATABASE_OWNER_URL to the URL of their owner.`,
    );
  }
  if (rows[0].has_tables) {
    throw new MigrationError(
      'The database contains tables of another application. Create a database for this service alone.',
    );
  }
  await client.query(
    `CREATE TABLE _prisma_migrations (
       id VARCHAR(36) PRIMARY KEY,
       checksum VARCHAR(64) NOT NULL,
       finished_at TIMESTAMPTZ,
       migration_name VARCHAR(255) NOT NULL,
       logs TEXT,
       rolled_back_at TIMESTAMPTZ,
       started_at TIMESTAMPTZ NOT NULL DEFAULT now(),
       applied_steps_count INTEGER NOT NULL DEFAULT 0
     )`,
  );
}

async function findMissing(client: pg.Client, migrations: readonly SqlFile[]): Promise<SqlFile[]> {
  const { rows } = await client.query<{ migration_name: string; checksum: string }>(
    `SELECT migration_name, checksum FROM _prisma_migrations
     WHERE finished_at IS NOT NULL AND rolled_back_at IS NULL`,
  );
  const applied = new Map(rows.map((row) => [row.migration_name, row.checksum]));
  const edited = migrations.find(
    (file) => applied.has(file.name) && applied.get(file.name) !== checksum(file),
  );
  if (edited !== undefined) {
    throw new MigrationError(
      `Migration ${edited.name} was edited after it was applied to this database. ` +
        'Restore the file and write a new migration, or recreate the database if it is for development only.',
    );
  }
  return migrations.filter(({ name }) => !applied.has(name));
}

/** Runs the scripts in one transaction; when one fails, the caller ends the connection and with it the transaction. */
async function apply(
  client: pg.Client,
  migrations: readonly SqlFile[],
  functions: readonly SqlFile[],
): Promise<void> {
  let current = '';
  try {
    await client.query('BEGIN');
    for (const migration of migrations) {
      current = migration.name;
      await client.query(migration.sql);
      await recordMigration(client, migration);
    }
    for (const { name, sql } of functions) {
      current = name;
      await client.query(sql);
    }
    await client.query('COMMIT');
  } catch (error) {
    throw new MigrationError(
      `${current} failed: ${reasonOf(error)}. Nothing was changed: fix the cause and run the migration again.`,
    );
  }
}

async function recordMigration(client: pg.Client, file: SqlFile): Promise<void> {
  await client.query(
    `INSERT INTO _prisma_migrations (id, checksum, migration_name, finished_at, applied_steps_count)
     VALUES ($1, $2, $3, clock_timestamp(), 1)`,
    [randomUUID(), checksum(file), file.name],
  );
}

/** As Prisma computes it. */
function checksum({ sql }: SqlFile): string {
  return createHash('sha256').update(sql).digest('hex');
}

/** One line. A connection that was tried on several addresses has an empty message and only a code. */
export function reasonOf(error: unknown): string {
  const { message, code } = error as { message?: string; code?: string };
  return (message || code || String(error)).trim().replaceAll(/\s*\n\s*/g, ' ');
}
