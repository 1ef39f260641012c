import { createHash } from 'node:crypto';
import pg from 'pg';
import { type Migration, migrationsPath, readMigrations } from './migrations-folder.ts';
import { noFilters, openSchemaEngine } from './schema-engine.ts';
import { WholeScriptPg } from './whole-script-pg.ts';

/** The database could not be brought up to date; `message` says why and holds no password. */
export class MigrationError extends Error {
  override readonly name = 'MigrationError';
}

/** Applying what is written takes no models, so that a deployment needs the folder of migrations and nothing else. */
const noModels = 'datasource db {\n  provider = "postgresql"\n}\n';

/** Prisma's code for a public schema that has tables, but no history of migrations. */
const notEmptyCode = 'P3005';

export interface MigrateOptions {
  /** Told in a line when the migration has to wait or to clean up; silent by default. */
  log?: (line: string) => void;
}

/** Any constant will do, as long as nobody else locks it: Prisma itself uses 72707369. */
const lockKey = 724_366_101;

/**
 * Applies the migrations that the database has not seen. Several processes may call it at the same time: one works,
 * the others wait for it and find nothing left to do.
 *
 * Every migration is one transaction that also records it as finished, so it is there as a whole or not at all, and
 * the next run goes on from there by itself. Hence no migration may contain what PostgreSQL refuses inside a
 * transaction, such as CREATE INDEX CONCURRENTLY.
 *
 * @param databaseUrl postgresql://...
 * @returns names of the migrations that were applied now, oldest first.
 * @throws MigrationError when the database cannot be opened, a migration fails, or one that is applied was edited.
 */
export async function migrate(
  databaseUrl: string,
  { log = () => {} }: MigrateOptions = {},
): Promise<string[]> {
  const client = await connect(databaseUrl);
  try {
    await lock(client, log);
    const interrupted = await forgetUnfinished(client);
    for (const name of interrupted)
      log(`Migration ${name} was interrupted and left nothing behind; it runs again.`);
    const migrations = readMigrations();
    await refuseEdited(client, migrations);
    return await apply(databaseUrl, migrations, client);
  } finally {
    // Closing the connection also gives back the lock.
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
    // A connection that breaks while idle is noticed by the next query; unheard, the event would end the process.
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
  const { rows } = await client.query('select pg_try_advisory_lock($1) as locked', [lockKey]);
  if (rows[0].locked) return;
  log('Another process is migrating this database; waiting for it.');
  await client.query(`set lock_timeout = '10min'`);
  try {
    await client.query('select pg_advisory_lock($1)', [lockKey]);
  } catch (error) {
    throw new MigrationError(
      `Another process has been migrating this database for too long: ${reasonOf(error)}`,
    );
  }
}

/** A migration is recorded as finished by its own transaction: whatever is not finished has not happened. */
async function forgetUnfinished(client: pg.Client): Promise<string[]> {
  if (!(await hasHistory(client))) return [];
  const { rows } = await client.query<{ migration_name: string }>(
    `update _prisma_migrations set rolled_back_at = now()
     where finished_at is null and rolled_back_at is null returning migration_name`,
  );
  return rows.map((row) => row.migration_name);
}

async function refuseEdited(client: pg.Client, migrations: readonly Migration[]): Promise<void> {
  if (!(await hasHistory(client))) return;
  const { rows } = await client.query<{ migration_name: string; checksum: string }>(
    'select migration_name, checksum from _prisma_migrations where finished_at is not null and rolled_back_at is null',
  );
  const applied = new Map(rows.map((row) => [row.migration_name, row.checksum]));
  for (const { name, script } of migrations) {
    const checksum = applied.get(name);
    if (checksum === undefined || checksum === createHash('sha256').update(script).digest('hex')) continue;
    throw new MigrationError(
      `Migration ${name} was edited after this database had applied it, so the database is not what it seems. ` +
        'Restore the file and write a new migration; a development database can be thrown away instead.',
    );
  }
}

async function hasHistory(client: pg.Client): Promise<boolean> {
  const { rows } = await client.query(`select to_regclass('_prisma_migrations') is not null as present`);
  return rows[0].present;
}

async function apply(databaseUrl: string, migrations: Migration[], client: pg.Client): Promise<string[]> {
  const database = new WholeScriptPg(databaseUrl, new Set(migrations.map(({ script }) => script)));
  const engine = await openSchemaEngine(noModels, database);
  try {
    const { appliedMigrationNames } = await engine.applyMigrations({
      migrationsList: asMigrationList(migrations),
      filters: noFilters,
    });
    return appliedMigrationNames;
  } catch (error) {
    if ((error as { code?: string }).code === notEmptyCode) {
      throw new MigrationError(
        'The database holds tables of something else; the service needs a database of its own.',
      );
    }
    const [name = 'The migration'] = await forgetUnfinished(client).catch(() => []);
    throw new MigrationError(`${name} failed and changed nothing: ${reasonOf(database.failure ?? error)}`);
  } finally {
    engine.free();
    await database.close();
  }
}

function asMigrationList(migrations: readonly Migration[]) {
  return {
    baseDir: migrationsPath,
    lockfile: { path: 'migration_lock.toml', content: 'provider = "postgresql"\n' },
    shadowDbInitScript: '',
    migrationDirectories: migrations.map(({ name, script }) => ({
      path: name,
      migrationFile: { path: 'migration.sql', content: { tag: 'ok' as const, value: script } },
    })),
  };
}

/** One line. A connection that was tried on several addresses has an empty message and only a code. */
function reasonOf(error: unknown): string {
  const { message, code } = error as { message?: string; code?: string };
  return (message || code || String(error)).trim().replaceAll(/\s*\n\s*/g, ' ');
}
