import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import {
  type Migration,
  migrationsPath,
  newMigrationName,
  readMigrations,
  readSnapshot,
  schemaPath,
  snapshotFile,
} from './migrations-folder.ts';
import { runPrisma } from './prisma-cli.ts';
import { schemaDifference } from './schema-difference.ts';

const usage = `npm run db:diff -- <name>    write the next migration from what changed in schema.prisma
npm run db:diff -- --amend   write the newest migration anew, for as long as it has not been released
npm run db:diff -- --check   fail when schema.prisma is not valid or a migration is missing`;

/** Everything below this line of a migration is written by hand, and stays when the migration is amended. */
const marker = '-- Below this line: written by hand, kept by `npm run db:diff -- --amend`.';

const lockfile = 'provider = "postgresql"\n';

class UsageError extends Error {}

async function main(): Promise<void> {
  const { values, positionals } = parseArgs({
    options: { check: { type: 'boolean' }, amend: { type: 'boolean' } },
    allowPositionals: true,
  });
  const migrations = existsSync(migrationsPath) ? readMigrations() : [];
  const schema = readFileSync(schemaPath, 'utf8');
  if (values.check) return check(migrations, schema);
  if (values.amend) return amend(migrations, schema);
  const [what] = positionals;
  if (what === undefined) throw new UsageError(usage);
  const name = newMigrationName(what, new Date());
  if (name === null) {
    throw new UsageError(`A name has letters, digits, - and _ only, which ${what} has not.\n\n${usage}`);
  }
  return add(name, migrations, schema);
}

async function check(migrations: readonly Migration[], schema: string): Promise<void> {
  const validation = runPrisma('validate');
  if (validation === null)
    throw new UsageError('prisma is not installed, so the schema cannot be validated.');
  if (validation.code !== 0) throw new UsageError(validation.output);
  const script = await schemaDifference(snapshotOf(migrations.at(-1)), schema);
  if (script === '') return;
  throw new UsageError(
    `schema.prisma has changes that no migration makes. Write one: npm run db:diff -- <name>\n\n${script}`,
  );
}

async function add(name: string, migrations: readonly Migration[], schema: string): Promise<void> {
  const script = await schemaDifference(snapshotOf(migrations.at(-1)), schema);
  if (script === '') {
    // For a migration that is all SQL, such as a new CHECK constraint.
    console.log('schema.prisma has no change for the database: the migration is empty, for you to fill.');
  }
  write(name, `${script.trimEnd()}\n\n${marker}\n`.trimStart(), schema);
}

async function amend(migrations: readonly Migration[], schema: string): Promise<void> {
  const newest = migrations.at(-1);
  if (newest === undefined) throw new UsageError('There is no migration to amend.');
  const handwritten = newest.script.split(marker)[1];
  if (handwritten === undefined) {
    throw new UsageError(
      `${newest.name} has lost the line that tells generated and written SQL apart:\n${marker}`,
    );
  }
  const script = await schemaDifference(snapshotOf(migrations.at(-2)), schema);
  write(newest.name, `${script.trimEnd()}\n\n${marker}${handwritten}`.trimStart(), schema);
}

function write(name: string, script: string, schema: string): void {
  const folder = join(migrationsPath, name);
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, 'migration.sql'), script);
  writeFileSync(join(folder, snapshotFile), schema);
  writeFileSync(join(migrationsPath, 'migration_lock.toml'), lockfile);
  console.log(`Wrote prisma/migrations/${name}/migration.sql`);
}

function snapshotOf(migration: Migration | undefined): string | null {
  return migration === undefined ? null : readSnapshot(migration.name);
}

try {
  await main();
} catch (error) {
  const expected = error instanceof UsageError || (error as { code?: string }).code?.startsWith('P1');
  console.error(expected ? (error as Error).message : error);
  process.exitCode = 1;
}
