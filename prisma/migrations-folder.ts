import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';

/** One folder of `prisma/migrations`. */
export interface Migration {
  /** `<yyyymmddhhmmss>_<name>`; migrations are applied in the order of their names. */
  name: string;
  /** The content of its migration.sql. */
  script: string;
}

/** The schema as it was when the migration was written; the next migration is the difference from it. */
export const snapshotFile = 'schema.snapshot.prisma';

/** The same folder for the sources and for what is compiled to dist/, because both lie below one package.json. */
export const packageRoot = findPackageRoot(import.meta.dirname);

export const schemaPath = join(packageRoot, 'prisma', 'schema.prisma');

export const migrationsPath = join(packageRoot, 'prisma', 'migrations');

/**
 * Reads every migration, oldest first.
 * @throws Error when the folder, or the script of a migration, is not there: a deployment without its migrations
 * must not pass for a database that is up to date.
 */
export function readMigrations(): Migration[] {
  if (!existsSync(migrationsPath)) throw new Error(`There are no migrations in ${migrationsPath}.`);
  return readdirSync(migrationsPath, { withFileTypes: true })
    .filter((entry) => entry.isDirectory())
    .map((entry) => entry.name)
    .sort()
    .map((name) => ({ name, script: readFileSync(join(migrationsPath, name, 'migration.sql'), 'utf8') }));
}

/**
 * The folder of a new migration: when it is written, and what it does.
 * @param what words of letters, digits, `-` and `_`.
 * @returns null for words that no folder can be named after.
 */
export function newMigrationName(what: string, writtenAt: Date): string | null {
  if (!/^[a-z0-9_-]+$/i.test(what)) return null;
  const stamp = writtenAt.toISOString().replaceAll(/[-T:]|\..*$/g, '');
  return `${stamp}_${what.toLowerCase().replaceAll('-', '_')}`;
}

/** Reads the schema that a migration leads to. */
export function readSnapshot(migrationName: string): string {
  return readFileSync(join(migrationsPath, migrationName, snapshotFile), 'utf8');
}

function findPackageRoot(from: string): string {
  if (existsSync(join(from, 'package.json'))) return from;
  const parent = dirname(from);
  if (parent === from) throw new Error('No package.json above this file: the migrations cannot be found.');
  return findPackageRoot(parent);
}
