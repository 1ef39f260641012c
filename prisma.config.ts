import { defineConfig } from 'prisma/config';

// Before most commands the CLI downloads its native schema engine if it is missing, also when the command never runs it, as all but these.
// It only checks that the file exists.
if (!process.argv.some((argument) => argument === 'migrate' || argument === 'db')) {
  process.env.PRISMA_SCHEMA_ENGINE_BINARY ??= process.execPath;
}

const databaseUrl = process.env.DATABASE_URL;

export default defineConfig({
  schema: 'prisma/schema.prisma',
  migrations: { path: 'prisma/migrations' },
  // Only `prisma studio` and `prisma migrate status` ask for it.
  ...(databaseUrl ? { datasource: { url: databaseUrl } } : {}),
});
