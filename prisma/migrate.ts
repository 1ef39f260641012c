import { createHash, randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import { remeasureMs } from '#shared/platform/clock.ts';
import { storeTroubleOf } from '#shared/platform/store-errors.ts';
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
  /** How long the processes of the version before have to notice that they must not use the database any more. */
  noticeMs?: number;
}

/** An arbitrary constant; Prisma itself uses 72707369. */
const lockKey = 724_366_101;

/** How often, and for how long, another process that migrates is waited for. */
const turn = { intervalMs: 250, timeoutMs: 60 * 60_000 };

/**
 * How long a migration waits for a table. Statements of the service wait behind it, so it gives up before they do, and tries
 * again after a pause.
 */
const tableLock = { timeoutMs: 1_000, pauseMs: 5_000, attempts: 10 };

/** A migration that processes of the version before cannot share the database with (shared/platform/data-format.ts). */
const raisesFormat = /^CREATE OR REPLACE FUNCTION data_format\(\)/m;

/** Every process reads the number that often. */
const longestNoticeMs = remeasureMs + 10_000;

/** A migration of one such statement lets a table be written while it works, for as long as it takes, and runs alone. */
const runsAlone =
  /^(\s|--.*\n)*((CREATE|DROP)\s+(UNIQUE\s+)?INDEX\s+CONCURRENTLY|ALTER\s+TABLE\s+\S+\s+VALIDATE\s+CONSTRAINT)\b/i;

/**
 * Applies the missing migrations, then creates or replaces every function. Several processes may call it at the same time: one
 * works, the others wait for it.
 *
 * All of it is one transaction, with the rows of Prisma's history, so that running processes never meet the new tables with the
 * old functions. A migration that is CREATE INDEX CONCURRENTLY, DROP INDEX CONCURRENTLY or VALIDATE CONSTRAINT commits what comes
 * before it and runs alone.
 *
 * A database that a newer version has migrated is left as it is: processes of that version would run on the functions of this one.
 *
 * @returns the names of the applied migrations, oldest first; null for the database of a newer version.
 * @throws MigrationError when the database cannot be opened, a script fails, a table stays locked, or a migration was edited after
 *   it was applied.
 */
export async function migrate(
  databaseUrl: string,
  { log = () => {}, folder = prismaFolder, noticeMs = longestNoticeMs }: MigrateOptions = {},
): Promise<string[] | null> {
  const migrations = readMigrations(folder);
  const functions = readFunctions(folder);
  return await withLock(databaseUrl, log, async (client) => {
    await refuseOldServer(client);
    await openHistory(client);
    const { missing, newestUnknown } = await compareHistory(client, migrations);
    if (missing.length === 0 && newestUnknown !== null) {
      log(
        `A newer version has migrated this database, last with ${newestUnknown}. Its functions and rights stay.`,
      );
      return null;
    }
    const isInUse = await hasFormat(client);
    await apply(client, missing, functions, log);
    if (isInUse && missing.some(({ sql }) => raisesFormat.test(sql))) {
      log(
        'Processes of the version before must not use this database any more; waiting until they have closed.',
      );
      await sleep(noticeMs);
    }
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
    const trouble = storeTroubleOf(error);
    throw new MigrationError(
      `Cannot open the database${where}: ${reasonOf(error)}${trouble === null ? '' : `. ${trouble}`}`,
    );
  }
}

async function lock(client: pg.Client, log: (line: string) => void): Promise<void> {
  const deadline = performance.now() + turn.timeoutMs;
  for (let attempt = 1; ; attempt += 1) {
    const { rows } = await client.query('SELECT pg_try_advisory_lock($1) AS locked', [lockKey]);
    if (rows[0].locked) return;
    if (attempt === 1) log('Another process is migrating this database; waiting for it.');
    if (performance.now() > deadline) {
      throw new MigrationError('Another process has been migrating this database for too long.');
    }
    // Between statements: CREATE INDEX CONCURRENTLY of the other process would wait for one that is running.
    await sleep(turn.intervalMs);
  }
}

/** The oldest version of PostgreSQL that has what the migrations and functions use. */
const oldestServer = 14;

async function refuseOldServer(client: pg.Client): Promise<void> {
  const { rows } = await client.query<{ version: string; number: number }>(
    `SELECT current_setting('server_version') AS version, current_setting('server_version_num')::int AS number`,
  );
  const [{ version = '', number = 0 } = {}] = rows;
  if (number >= oldestServer * 10_000) return;
  throw new MigrationError(
    `PostgreSQL ${version} is too old: the service needs version ${oldestServer} or newer.`,
  );
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

async function hasFormat(client: pg.Client): Promise<boolean> {
  const { rows } = await client.query(`SELECT to_regprocedure('data_format()') IS NOT NULL AS is_there`);
  return rows[0].is_there;
}

/** Which migrations the database lacks, and the newest one that it has and this version does not. */
async function compareHistory(
  client: pg.Client,
  migrations: readonly SqlFile[],
): Promise<{ missing: SqlFile[]; newestUnknown: string | null }> {
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
  const own = new Set(migrations.map(({ name }) => name));
  return {
    missing: migrations.filter(({ name }) => !applied.has(name)),
    newestUnknown:
      [...applied.keys()]
        .filter((name) => !own.has(name))
        .toSorted()
        .at(-1) ?? null,
  };
}

async function apply(
  client: pg.Client,
  migrations: readonly SqlFile[],
  functions: readonly SqlFile[],
  log: (line: string) => void,
): Promise<void> {
  const together: SqlFile[] = [];
  for (const migration of migrations) {
    if (!runsAlone.test(migration.sql)) {
      together.push(migration);
      continue;
    }
    await applyTogether(client, together.splice(0), [], log);
    await applyAlone(client, migration);
  }
  await applyTogether(client, together, functions, log);
}

/** Runs the scripts in one transaction, again while a table is locked. */
async function applyTogether(
  client: pg.Client,
  migrations: readonly SqlFile[],
  functions: readonly SqlFile[],
  log: (line: string) => void,
): Promise<void> {
  for (let attempt = 1; ; attempt += 1) {
    let current = '';
    try {
      await client.query('BEGIN');
      await client.query(`SET LOCAL lock_timeout = ${tableLock.timeoutMs}`);
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
      return;
    } catch (error) {
      await client.query('ROLLBACK').catch(() => {});
      if (!isLocked(error) || attempt === tableLock.attempts) throw failureOf(current, error);
    }
    log(`${current} waits for a table that another session has locked, such as a backup; trying again.`);
    await sleep(tableLock.pauseMs);
  }
}

async function applyAlone(client: pg.Client, migration: SqlFile): Promise<void> {
  try {
    const [, index] = /\sCONCURRENTLY\s+IF\s+NOT\s+EXISTS\s+(\S+)/i.exec(migration.sql) ?? [];
    if (index !== undefined) await dropUnfinishedIndex(client, index);
    await client.query(migration.sql);
    await recordMigration(client, migration);
  } catch (error) {
    throw failureOf(migration.name, error);
  }
}

/** An index whose CREATE INDEX CONCURRENTLY was interrupted stays behind, invalid. */
async function dropUnfinishedIndex(client: pg.Client, index: string): Promise<void> {
  const { rows } = await client.query(
    'SELECT FROM pg_index WHERE indexrelid = to_regclass($1) AND NOT indisvalid',
    [index],
  );
  if (rows.length > 0) await client.query(`DROP INDEX CONCURRENTLY ${index}`);
}

function failureOf(name: string, error: unknown): MigrationError {
  return new MigrationError(
    `${name} failed: ${reasonOf(error)}. It changed nothing: fix the cause and run the migration again.`,
  );
}

/** PostgreSQL's lock_not_available. */
function isLocked(error: unknown): boolean {
  return (error as { code?: string }).code === '55P03';
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
