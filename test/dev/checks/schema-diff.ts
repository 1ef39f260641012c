import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { MigrationError, migrate } from '#prisma/migrate.ts';
import { prismaFolder } from '#prisma/migrations-folder.ts';
import { startPostgres } from '../../support/stores/embedded-postgres.ts';
import { schemaDifference } from './schema-engine.ts';

// npm run db:diff: compares schema.prisma with a temporary database that the migrations were applied to.

const usage = `npm run db:diff -- <name>    write the next migration; the name has letters, digits, - and _
npm run db:diff -- --check   fail when schema.prisma is not valid or a migration is missing`;

class UsageError extends Error {}

async function main(): Promise<void> {
  const { values, positionals } = parseArgs({
    options: { check: { type: 'boolean', default: false } },
    allowPositionals: true,
  });
  const [title = ''] = positionals;
  if (values.check) await check();
  else if (/^[a-z0-9_-]+$/i.test(title)) await writeMigration(title);
  else throw new UsageError(usage);
}

async function check(): Promise<void> {
  const sql = await difference();
  if (sql === '') return;
  throw new UsageError(
    `schema.prisma has changes without a migration. Write one: npm run db:diff -- <name>\n\n${sql}`,
  );
}

/** Without a difference, the migration is empty and meant for SQL that Prisma cannot express. */
async function writeMigration(title: string): Promise<void> {
  const sql = await difference();
  const timestamp = new Date().toISOString().replaceAll(/[-T:]|\..*$/g, '');
  const name = `${timestamp}_${title.toLowerCase().replaceAll('-', '_')}`;
  const folder = join(prismaFolder, 'migrations', name);
  mkdirSync(folder);
  writeFileSync(join(folder, 'migration.sql'), sql);
  console.log(`Wrote ${sql === '' ? 'an empty ' : ''}prisma/migrations/${name}/migration.sql`);
}

async function difference(): Promise<string> {
  const schema = readFileSync(join(prismaFolder, 'schema.prisma'), 'utf8');
  const postgres = await startPostgres({ durable: false });
  try {
    await migrate(postgres.url);
    return await schemaDifference(postgres.url, schema);
  } finally {
    await postgres.stop();
  }
}

/** True for errors whose message explains what to do; Prisma's codes begin with P. */
function isExpected(error: unknown): error is Error {
  if (error instanceof UsageError || error instanceof MigrationError) return true;
  return error instanceof Error && 'code' in error && /^P\d+$/.test(String(error.code));
}

try {
  await main();
} catch (error) {
  console.error(isExpected(error) ? error.message : error);
  process.exitCode = 1;
}
