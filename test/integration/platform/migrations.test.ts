import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { beforeAll, describe, expect, test } from 'vitest';
import { migrate } from '#prisma/migrate.ts';
import { prismaFolder, readMigrations } from '#prisma/migrations-folder.ts';
import { prepareDatabase } from '#prisma/prepare-database.ts';
import { migrationStatus, schemaDifference } from '../../dev/checks/schema-engine.ts';
import { freePort } from '../../support/processes/free-port.ts';
import { useTemporaryFolder } from '../../support/processes/temporary-folder.ts';
import { useDatabase, useEmptyDatabase } from '../../support/stores/database.ts';
import { query, waitForLock, withClient } from '../../support/stores/database-client.ts';

const everyMigration = readMigrations().map(({ name }) => name);

describe('the migrations', () => {
  const url = useEmptyDatabase();
  const schema = readFileSync(join(prismaFolder, 'schema.prisma'), 'utf8');

  beforeAll(() => migrate(url()));

  test('lead to the database that schema.prisma describes', async () => {
    expect(await schemaDifference(url(), schema)).toBe('');
  });

  test('are those that Prisma expects: `prisma migrate status` finds the database up to date', async () => {
    const inSync = { editedMigrationNames: [], failedMigrationNames: [], history: null };
    expect(await migrationStatus(url(), schema, readMigrations())).toMatchObject(inSync);
    const [first, ...others] = readMigrations();
    expect(await migrationStatus(url(), schema, others)).toMatchObject({
      history: { unpersistedMigrationNames: [first?.name] },
    });
    const edited = readMigrations().map(({ name, sql }) => ({ name, sql: `${sql}\n` }));
    const { editedMigrationNames } = await migrationStatus(url(), schema, edited);
    expect(editedMigrationNames).toEqual(everyMigration);
  });
});

describe('the tables of the queues', () => {
  const url = useEmptyDatabase();

  test('are made by one process at a time', async () => {
    await migrate(url());
    await withClient(url(), async (client) => {
      await client.query('BEGIN');
      await client.query('CREATE SCHEMA bullmq');
      const preparing = prepareDatabase({ ownerUrl: url(), serviceUrl: null, redisUrl: null, log: () => {} });
      await waitForLock(client);
      // The lock of the migration.
      expect(await query(url(), 'SELECT pg_try_advisory_lock(724366101) AS free')).toEqual([{ free: false }]);
      await client.query('ROLLBACK');
      await preparing;
    });
  });
});

describe('the statistics of the planner', () => {
  const url = useEmptyDatabase();
  const prepare = () => prepareDatabase({ ownerUrl: url(), serviceUrl: null, redisUrl: null, log: () => {} });
  const add = (id: string) =>
    query(url(), `INSERT INTO organization (id, name) VALUES ('${id}', 'Added to be counted')`);
  const counted = async () =>
    (await query(url(), `SELECT reltuples FROM pg_class WHERE oid = 'organization'::regclass`))[0].reltuples;

  test('are collected by a migration, and by one that changes nothing where there are none', async () => {
    await prepare();
    const unknown = `SELECT relname FROM pg_stat_user_tables WHERE schemaname = 'public' AND last_analyze IS NULL`;
    expect(await query(url(), unknown)).toEqual([]);
    await add('org_first');
    expect(await prepare()).toEqual([]);
    expect(await counted()).toBe(0);
    // As in a restored database.
    await query(url(), `SELECT pg_stat_reset_single_table_counters('organization'::regclass)`);
    expect(await prepare()).toEqual([]);
    expect(await counted()).toBe(1);
  });
});

describe('a migration that fails', () => {
  const url = useEmptyDatabase();
  const { folder, write } = useProject();

  test('is rolled back together with those before it', async () => {
    write('migrations/1_first/migration.sql', 'CREATE TABLE first (id INT)');
    write('migrations/2_second/migration.sql', 'CREATE TABLE second (id INT); SELECT 1 / 0');
    await expect(migrate(url(), { folder: folder() })).rejects.toThrow(
      /^2_second failed: division by zero\./,
    );
    expect(await tablesOf(url())).toEqual(['_prisma_migrations']);
  });

  test('is applied by the next run once its cause is fixed', async () => {
    write('migrations/2_second/migration.sql', 'CREATE TABLE second (id INT)');
    expect(await migrate(url(), { folder: folder() })).toEqual(['1_first', '2_second']);
    expect(await migrate(url(), { folder: folder() })).toEqual([]);
  });
});

describe('a migration of a table that another session reads', () => {
  const url = useEmptyDatabase();
  const { folder, write } = useProject();

  test('gives up and tries again later, so that no other reader waits behind it', async () => {
    await query(url(), 'CREATE SCHEMA other; CREATE TABLE other.large (id INT)');
    write('migrations/1_first/migration.sql', 'ALTER TABLE other.large ADD COLUMN note TEXT');
    await withClient(url(), async (client) => {
      await client.query('BEGIN; SELECT FROM other.large');
      const applied = new Promise<string[] | null>((resolve, reject) => {
        const log = (line: string) => {
          expect(line).toMatch(/^1_first waits for a table/);
          query(url(), `SET lock_timeout = '1s'; SELECT FROM other.large`)
            .then(() => client.query('ROLLBACK'))
            .catch(reject);
        };
        migrate(url(), { folder: folder(), log }).then(resolve, reject);
      });
      expect(await applied).toEqual(['1_first']);
    });
  });
});

describe('an index that is built while its table is written', () => {
  const url = useEmptyDatabase();
  const { folder, write } = useProject();
  const build = 'CREATE UNIQUE INDEX CONCURRENTLY IF NOT EXISTS first_id ON first (id)';
  const isValid = async () =>
    (await query(url(), `SELECT indisvalid FROM pg_index WHERE indexrelid = to_regclass('first_id')`))[0];

  test('is left invalid by a failure, after the migrations before it, which stay', async () => {
    write('migrations/1_first/migration.sql', 'CREATE TABLE first AS SELECT 1 AS id UNION ALL SELECT 1');
    write('migrations/2_index/migration.sql', `-- Why.\n${build}`);
    write('migrations/3_third/migration.sql', 'CREATE TABLE third (id INT)');
    await expect(migrate(url(), { folder: folder() })).rejects.toThrow(/^2_index failed: could not create/);
    expect(await tablesOf(url())).toEqual(['_prisma_migrations', 'first']);
    expect(await isValid()).toEqual({ indisvalid: false });
  });

  test('is built by the next run, also of two at once, and the migrations after it are applied', async () => {
    await query(url(), 'DELETE FROM first');
    const runs = await Promise.all([1, 2].map(() => migrate(url(), { folder: folder() })));
    expect(runs.flat()).toEqual(['2_index', '3_third']);
    expect(await isValid()).toEqual({ indisvalid: true });
  });
});

describe('functions', () => {
  const url = useEmptyDatabase();
  const { folder, write } = useProject();
  const older = useProject();
  const answer = async () => (await query(url(), 'SELECT answer()'))[0].answer;

  test('are created after the migrations whose tables they read', async () => {
    write('migrations/1_first/migration.sql', 'CREATE TABLE first AS SELECT 41 AS number');
    write('functions/answer.sql', answerFunction('SELECT number FROM first'));
    expect(await migrate(url(), { folder: folder() })).toEqual(['1_first']);
    expect(await answer()).toBe(41);
  });

  test('are replaced when their file changes, without a migration', async () => {
    write('functions/answer.sql', answerFunction('SELECT number + 1 FROM first'));
    expect(await migrate(url(), { folder: folder() })).toEqual([]);
    expect(await answer()).toBe(42);
  });

  test('stay as a newer version made them when an older one migrates', async () => {
    older.write('migrations/1_first/migration.sql', 'CREATE TABLE first AS SELECT 41 AS number');
    older.write('functions/answer.sql', answerFunction('SELECT 0'));
    write('migrations/2_second/migration.sql', 'CREATE TABLE second (id INT)');
    await migrate(url(), { folder: folder() });
    const said: string[] = [];
    expect(await migrate(url(), { folder: older.folder(), log: (line) => said.push(line) })).toBeNull();
    expect(said).toEqual([expect.stringContaining('last with 2_second')]);
    expect(await answer()).toBe(42);
  });

  test('stay as they were when one of them fails, and its file is named', async () => {
    write('functions/answer.sql', answerFunction('SELECT 0'));
    write('functions/broken.sql', answerFunction('SELECT number FROM missing'));
    await expect(migrate(url(), { folder: folder() })).rejects.toThrow(
      /^broken.sql failed: relation "missing" does not exist\./,
    );
    expect(await answer()).toBe(42);
  });
});

describe('a migration that the version before cannot share the database with', () => {
  const url = useEmptyDatabase();
  const { folder, write } = useProject();

  test('waits until the processes of that version have closed, but not on a new database', async () => {
    const said: string[] = [];
    const run = () => migrate(url(), { folder: folder(), log: (line) => said.push(line), noticeMs: 1 });
    const formatFunction = (number: number) =>
      `CREATE OR REPLACE FUNCTION data_format() RETURNS int LANGUAGE sql IMMUTABLE AS $$ SELECT ${number} $$`;
    write('migrations/1_first/migration.sql', formatFunction(1));
    expect(await run()).toEqual(['1_first']);
    expect(said).toEqual([]);
    write('migrations/2_second/migration.sql', formatFunction(2));
    expect(await run()).toEqual(['2_second']);
    expect(said).toEqual([expect.stringContaining('must not use this database any more')]);
    expect(await query(url(), 'SELECT data_format()')).toEqual([{ data_format: 2 }]);
  });
});

describe('a PostgreSQL that is too old', () => {
  const url = useEmptyDatabase();

  test('is refused by its version, before anything is made', async () => {
    await query(
      url(),
      `CREATE FUNCTION current_setting(name text) RETURNS text LANGUAGE sql AS
         $$ SELECT CASE name WHEN 'server_version' THEN '13.9' ELSE '130009' END $$`,
    );
    const asOld = `${url()}?options=-c%20search_path%3Dpublic,pg_catalog`;
    await expect(migrate(asOld)).rejects.toThrow(
      'PostgreSQL 13.9 is too old: the service needs version 14 or newer.',
    );
    expect(await tablesOf(url())).toEqual([]);
  });
});

describe('a database with tables of another application', () => {
  const url = useEmptyDatabase();

  test('is refused and left as it was', async () => {
    await query(url(), 'CREATE TABLE other (id INT)');
    await expect(migrate(url())).rejects.toThrow('contains tables of another application');
    expect(await tablesOf(url())).toEqual(['other']);
  });

  test('is accepted when they are in another schema, as those of the queues are', async () => {
    await query(url(), 'CREATE SCHEMA bullmq; ALTER TABLE other SET SCHEMA bullmq');
    expect(await migrate(url())).toEqual(everyMigration);
  });
});

describe('a migration that was edited after it was applied', () => {
  const url = useDatabase();

  test('stops everything, because the database is not what the files say', async () => {
    await query(url(), `UPDATE _prisma_migrations SET checksum = 'that of another text'`);
    await expect(migrate(url())).rejects.toThrow('was edited after it was applied to this database');
  });
});

describe('a database that cannot be opened', () => {
  test('is named in one line, without the password', async () => {
    const port = await freePort();
    const error = await migrate(`postgresql://app:secret@127.0.0.1:${port}/refunds`).catch(String);
    expect(error).toContain(`Cannot open the database "refunds" at 127.0.0.1:${port}: `);
    expect(error).not.toMatch(/secret|\n/);
  });
});

/** A folder with migrations and functions of its own. */
function useProject() {
  const inFolder = useTemporaryFolder();
  const write = (file: string, sql: string) => {
    mkdirSync(dirname(inFolder(file)), { recursive: true });
    writeFileSync(inFolder(file), sql);
  };
  return { folder: () => inFolder(), write };
}

function answerFunction(body: string): string {
  return `CREATE OR REPLACE FUNCTION answer() RETURNS INT LANGUAGE sql AS $$ ${body} $$`;
}

async function tablesOf(url: string): Promise<string[]> {
  const rows = await query(url, `SELECT tablename FROM pg_tables WHERE schemaname = 'public' ORDER BY 1`);
  return rows.map((row) => row.tablename);
}
