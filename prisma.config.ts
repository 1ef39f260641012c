import { defineConfig } from 'prisma/config';

// Before most commands the CLI downloads its native schema engine if it is missing, even when the command never runs it.
// It only checks that the file exists.
process.env.PRISMA_SCHEMA_ENGINE_BINARY ??= process.execPath;

const databaseUrl = process.env.DATABASE_URL;

export default defineConfig({
  schema: 'prisma/schema.prisma',
  migrations: { path: 'prisma/migrations' },
  // Only `prisma studio` asks for it.
  ...(databaseUrl ? { datasource: { url: databaseUrl } } : {}),
});
