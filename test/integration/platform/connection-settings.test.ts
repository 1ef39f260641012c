import { readFileSync } from 'node:fs';
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest';
import { loadSettings } from '#shared/platform/config.ts';
import { type Database, databaseSettings, openDatabase, serviceTime } from '#shared/platform/database.ts';
import { useDatabase } from '../../support/stores/database.ts';
import { query } from '../../support/stores/database-client.ts';

const databaseUrl = useDatabase();
let db: Database;

const unsuitable = {
  timezone: 'Pacific/Auckland',
  datestyle: 'SQL, DMY',
  default_transaction_isolation: 'repeatable read',
  synchronous_commit: 'off',
};

beforeAll(async () => {
  const name = new URL(databaseUrl()).pathname.slice(1);
  for (const [setting, value] of Object.entries(unsuitable))
    await query(databaseUrl(), `alter database "${name}" set ${setting} = '${value}'`);
  db = openDatabase(`${databaseUrl()}?options=-c%20lock_timeout%3D5s`, { poolSize: 1 });
});
afterAll(() => db.$disconnect());

test('a time is written and read as the moment that it is, in a database of another time zone', async () => {
  const createdAt = new Date('2026-01-02T03:04:05.678Z');
  await db.organization.create({ data: { id: 'org_elsewhere', name: 'Elsewhere', createdAt } });
  const [row] = await query(
    databaseUrl(),
    'select extract(epoch from created_at) * 1000 as ms from organization',
  );
  expect(Number(row.ms)).toBe(createdAt.getTime());

  const [before] = await query(databaseUrl(), 'select extract(epoch from clock_timestamp()) * 1000 as ms');
  const distanceMs = (await serviceTime(db)).getTime() - Number(before.ms);
  expect(distanceMs).toBeGreaterThan(-1);
  expect(distanceMs).toBeLessThan(60_000);
});

test('what a pooler ignores is documented for the role of the service', async () => {
  const page = readFileSync('docs/operations/deployment.md', 'utf8');
  const documented = [...page.matchAll(/^ALTER ROLE refunds_service SET (\w+) = /gm)].map(([, name]) => name);
  const ofConnection = await db.$queryRaw<{ name: string }[]>`
    SELECT lower(name) AS name FROM pg_settings WHERE source = 'client'
      AND name NOT IN ('application_name', 'client_encoding', 'lock_timeout')`;
  const ofDatabase = Object.keys(databaseSettings).map((name) => name.toLowerCase());
  expect([...documented, ...ofDatabase].toSorted()).toEqual(ofConnection.map(({ name }) => name).toSorted());
});

test('a commit is on disk, and what is read under a lock is up to date, whatever the database sets', async () => {
  const [settings] = await db.$queryRaw<Record<string, string>[]>`
    SELECT current_setting('synchronous_commit') AS commit, current_setting('transaction_isolation') AS isolation,
      current_setting('lock_timeout') AS "ofUrl"`;
  expect(settings).toEqual({ commit: 'on', isolation: 'read committed', ofUrl: '5s' });
});

test('a statement may take as long as the settings say', async () => {
  const settings = { ...loadSettings({}), DATABASE_STATEMENT_TIMEOUT_MS: 100 };
  const hurried = openDatabase(databaseUrl(), { poolSize: 1, settings });
  onTestFinished(() => hurried.$disconnect());
  await expect(hurried.$queryRaw`SELECT pg_sleep(3600)::text`).rejects.toThrow(/statement timeout/);
});
