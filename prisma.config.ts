import { defineConfig } from 'prisma/config';

// Before most commands the CLI looks for its native schema engine and would download it, even when the command never
// runs it. It only checks that the file exists; migrations use the WebAssembly build (prisma/schema-engine.ts).
process.env.PRISMA_SCHEMA_ENGINE_BINARY ??= process.execPath;

const databaseUrl = process.env.DATABASE_URL;

export default defineConfig({
  schema: 'prisma/schema.prisma',
  migrations: { path: 'prisma/migrations' },
  // Only `prisma studio` asks for it.
  ...(databaseUrl ? { datasource: { url: databaseUrl } } : {}),
});
