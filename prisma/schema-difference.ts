import { ColumnTypeEnum, type SqlMigrationAwareDriverAdapterFactory } from '@prisma/driver-adapter-utils';
import { noFilters, openSchemaEngine } from './schema-engine.ts';

/**
 * The SQL that leads from one Prisma schema to another; no database is asked.
 * @param from text of the older schema; null for an empty database.
 * @param to text of the newer schema.
 * @returns the script, or an empty string when the two describe the same database.
 * @throws Error with Prisma's own explanation when one of the schemas is not valid.
 */
export async function schemaDifference(from: string | null, to: string): Promise<string> {
  const engine = await openSchemaEngine(to, noDatabase);
  try {
    const result = await engine.diff({
      from: from === null ? { tag: 'empty' } : { tag: 'schemaDatamodel', ...asFiles(from) },
      to: { tag: 'schemaDatamodel', ...asFiles(to) },
      script: true,
      exitCode: true,
      filters: noFilters,
    });
    return result.exitCode === 0 ? '' : withoutCreateSchema(result.stdout ?? '');
  } finally {
    engine.free();
  }
}

function asFiles(schema: string) {
  return { files: [{ path: 'schema.prisma', content: schema }] };
}

/** Every database has its public schema, and creating it takes a right that the service has no use for. */
function withoutCreateSchema(script: string): string {
  return script.replace('-- CreateSchema\nCREATE SCHEMA IF NOT EXISTS "public";\n\n', '');
}

/** The engine asks a database for its version even when it only compares two texts; this one answers just that. */
const noDatabase: SqlMigrationAwareDriverAdapterFactory = {
  provider: 'postgres',
  adapterName: 'no-database',
  connect: async () => ({
    provider: 'postgres',
    adapterName: 'no-database',
    queryRaw: async () => ({
      columnNames: ['exists', 'version', 'numeric_version'],
      columnTypes: [ColumnTypeEnum.Boolean, ColumnTypeEnum.Text, ColumnTypeEnum.Int32],
      rows: [[true, 'PostgreSQL 18.0', 180000]],
    }),
    executeRaw: async () => refuse(),
    executeScript: async () => refuse(),
    startTransaction: async () => refuse(),
    getConnectionInfo: () => ({ schemaName: 'public', supportsRelationJoins: true }),
    dispose: async () => {},
  }),
  connectToShadowDb: async () => refuse(),
};

function refuse(): never {
  throw new Error('Comparing two schemas must not need a database.');
}
