import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';

/** A migration or a file of functions. */
export interface SqlFile {
  /** Files are applied in the order of their names. That of a migration is `<yyyymmddhhmmss>_<name>`. */
  name: string;
  sql: string;
}

/** The same folder for the sources and for what is compiled to dist/: the nearest above with migrations. */
export const prismaFolder = findPrismaFolder(import.meta.dirname);

/**
 * Reads `migrations/<name>/migration.sql` of every migration, oldest first.
 * @throws Error when the folder or a script is missing: a deployment without its migrations is not up to date.
 */
export function readMigrations(folder = prismaFolder): SqlFile[] {
  const migrations = join(folder, 'migrations');
  return readdirSync(migrations, { withFileTypes: true })
    .filter((entry) => entry.isDirectory())
    .map(({ name }) => ({ name, sql: readFileSync(join(migrations, name, 'migration.sql'), 'utf8') }))
    .sort(byName);
}

/** Reads the `.sql` files of `functions/` and its folders, in the order of the file names; none when there is no such folder. */
export function readFunctions(folder = prismaFolder): SqlFile[] {
  const functions = join(folder, 'functions');
  if (!existsSync(functions)) return [];
  return readdirSync(functions, { recursive: true, encoding: 'utf8' })
    .filter((file) => file.endsWith('.sql'))
    .map((file) => ({ name: basename(file), sql: readFileSync(join(functions, file), 'utf8') }))
    .sort(byName);
}

function byName(a: SqlFile, b: SqlFile): number {
  return a.name < b.name ? -1 : 1;
}

function findPrismaFolder(from: string): string {
  const folder = join(from, 'prisma');
  if (existsSync(join(folder, 'migrations'))) return folder;
  const parent = dirname(from);
  if (parent === from) throw new Error('No folder prisma/migrations above this file.');
  return findPrismaFolder(parent);
}
