import { readFileSync } from 'node:fs';
import { beforeAll, describe, expect, test } from 'vitest';
import { migrate } from '../../prisma/migrate.ts';
import { newMigrationName, readMigrations, schemaPath } from '../../prisma/migrations-folder.ts';
import { schemaDifference } from '../../prisma/schema-difference.ts';
import { readCatalog } from '../harness/catalog.ts';
import { startProcess } from '../harness/child-process.ts';
import { useDatabase, useEmptyDatabase } from '../harness/database.ts';
import { query, withClient } from '../harness/database-client.ts';
import { freePort } from '../harness/free-port.ts';

const everyMigration = readMigrations().map(({ name }) => name);

describe('the migrations', () => {
  const migratedUrl = useEmptyDatabase();
  const describedUrl = useEmptyDatabase();

  beforeAll(() => migrate(migratedUrl()));

  test('lead to exactly the database that schema.prisma describes', async () => {
    const script = await schemaDifference(null, readFileSync(schemaPath, 'utf8'));
    await query(describedUrl(), script);
    const described = await withClient(describedUrl(), readCatalog);
    const migrated = await withClient(migratedUrl(), readCatalog);
    expect(migrated).toEqual(described);
    for (const lines of Object.values(migrated)) expect(lines).not.toEqual([]);
  });

  test('change nothing in a database that has them all', async () => {
    expect(await migrate(migratedUrl())).toEqual([]);
  });
});

test('a new migration is named after the words that a person gives it, also with hyphens', () => {
  const writtenAt = new Date('2026-11-21T05:11:31.123Z');
  expect(newMigrationName('what-changes', writtenAt)).toBe('20261121051131_what_changes');
  expect(newMigrationName('Add_extra2', writtenAt)).toBe('20261121051131_add_extra2');
  for (const words of ['', '../up', 'two words', 'a/b'])
    expect(newMigrationName(words, writtenAt)).toBeNull();
});

describe('two processes that migrate at the same time', () => {
  const url = useEmptyDatabase();

  test('both succeed, and every migration is applied once', async () => {
    const env = { DATABASE_URL: url() };
    const runs = [1, 2].map(() => startProcess('prisma/migrate-main.ts', { env }));
    const exits = await Promise.all(runs.map((run) => run.exited));
    const outputs = runs.map((run) => run.output());
    expect(exits.map((exit) => exit.code)).toEqual([0, 0]);
    for (const name of everyMigration) {
      expect(outputs.filter((output) => output.includes(`Applied ${name}`))).toHaveLength(1);
    }
    expect(outputs.filter((output) => output.includes('The database is up to date.'))).toHaveLength(1);
  });
});

describe('a migration that fails', () => {
  const url = useEmptyDatabase();

  test('leaves nothing behind, says what PostgreSQL said, and runs again once the cause is gone', async () => {
    // In the way of the last part of the first migration.
    await query(
      url(),
      `create function refuse_change_of_history() returns trigger language plpgsql as 'begin end'`,
    );
    await expect(migrate(url())).rejects.toThrow(
      /failed and changed nothing: function "refuse_change_of_history" already exists/,
    );
    expect(await tablesOf(url())).toEqual(['_prisma_migrations']);

    await query(url(), 'drop function refuse_change_of_history');
    expect(await migrate(url())).toEqual(everyMigration);
  });
});

describe('a database that holds the tables of something else', () => {
  const url = useEmptyDatabase();

  test('is refused and left as it was', async () => {
    await query(url(), 'create table somebody_elses (id int)');
    await expect(migrate(url())).rejects.toThrow('needs a database of its own');
    expect(await tablesOf(url())).toEqual(['somebody_elses']);
  });

  test('is welcome when they are in another schema, as those of the queues are', async () => {
    await query(url(), 'create schema bullmq; alter table somebody_elses set schema bullmq');
    expect(await migrate(url())).toEqual(everyMigration);
  });
});

describe('a migration whose process was killed', () => {
  const url = useEmptyDatabase();

  test('is run again, because what it had done was never committed', async () => {
    await migrate(url());
    // What is then left: the migration as begun, and none of its tables.
    await query(
      url(),
      `create schema kept;
       alter table _prisma_migrations set schema kept;
       drop schema public cascade;
       create schema public;
       alter table kept._prisma_migrations set schema public;
       update _prisma_migrations set finished_at = null, applied_steps_count = 0`,
    );
    const lines: string[] = [];
    expect(await migrate(url(), { log: (line) => lines.push(line) })).toEqual(everyMigration);
    expect(lines[0]).toContain('was interrupted and left nothing behind');
  });

  test('is not run again when it was killed after the commit', async () => {
    // The engine counts the step in a statement of its own, after the migration.
    await query(url(), 'update _prisma_migrations set applied_steps_count = 0');
    expect(await migrate(url())).toEqual([]);
  });
});

describe('a migration that was edited after it had been applied', () => {
  const url = useDatabase();

  test('stops everything, because the database is not what the files say', async () => {
    await query(url(), `update _prisma_migrations set checksum = 'that of another text'`);
    await expect(migrate(url())).rejects.toThrow('was edited after this database had applied it');
  });
});

describe('a database that cannot be opened', () => {
  test('is named in one line, without the password', async () => {
    const port = await freePort();
    const error = await migrate(`postgresql://app:secret@127.0.0.1:${port}/refunds`).catch(String);
    expect(error).toContain(`Cannot open the database "refunds" at 127.0.0.1:${port}: `);
    expect(error).not.toMatch(/secret|\n/);
  });

  test('stops the command with that line alone', async () => {
    const port = await freePort();
    const env = { DATABASE_URL: `postgresql://app:secret@127.0.0.1:${port}/refunds` };
    const run = startProcess('prisma/migrate-main.ts', { env });
    expect(await run.exited).toMatchObject({ code: 1 });
    expect(run.output().trim().split('\n')).toEqual([expect.stringContaining('Cannot open the database')]);
  });
});

async function tablesOf(url: string): Promise<string[]> {
  const rows = await query(url, `select tablename from pg_tables where schemaname = 'public' order by 1`);
  return rows.map((row) => row.tablename);
}
