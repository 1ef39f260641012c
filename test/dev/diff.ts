import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { MigrationError, migrate } from '../../prisma/migrate.ts';
import { prismaFolder } from '../../prisma/migrations-folder.ts';
import { startPostgres } from '../support/stores/embedded-postgres.ts';
import { schemaDifference } from './schema-engine.ts';

// `npm run db:diff`: compares schema.prisma with a temporary database that the migrations were applied to.

const usage = `npm run db:diff -- <name>    write the next migration; the name has letters, digits, - and _
npm run db:diff -- --check   fail when schema.prisma is not valid or a migration is missing`;

class UsageError extends Error {}

async function main(): Promise<void> {
  const { values, positionals } = parseArgs({
    options: { check: { type: 'boolean', default: false } },
    allowPositionals: true,
  });
  const [words = ''] = positionals;
  if (values.check) await check();
  else if (/^[a-z0-9_-]+$/i.test(words)) await writeMigration(words);
  else throw new UsageError(usage);
}

async function check(): Promise<void> {
  const sql = await difference();
  if (sql === '') return;
  throw new UsageError(
    `schema.prisma has changes that no migration makes. Write one: npm run db:diff -- <name>\n\n${sql}`,
  );
}

/** Also when nothing differs: the migration is then for SQL that Prisma cannot express. */
async function writeMigration(words: string): Promise<void> {
  const sql = await difference();
  const timestamp = new Date().toISOString().replaceAll(/[-T:]|\..*$/g, '');
  const name = `${timestamp}_${words.toLowerCase().replaceAll('-', '_')}`;
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

/** Prisma's own codes begin with P; the message then explains what is wrong with the schema. */
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
