import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import {
  bindMigrationAwareSqlAdapterFactory,
  type ColumnType,
  ColumnTypeEnum,
  type SqlMigrationAwareDriverAdapterFactory,
} from '@prisma/driver-adapter-utils';
import * as glue from '@prisma/schema-engine-wasm/schema_engine_bg';
import pg from 'pg';
import type { SqlFile } from '#prisma/migrations-folder.ts';

/**
 * The SQL that changes a database into a Prisma schema. It ignores what Prisma cannot express: functions, triggers, CHECK
 * constraints, partial indexes.
 * @param schema text of the Prisma schema.
 * @returns an empty string when nothing differs.
 * @throws Error with Prisma's explanation when the schema is not valid.
 */
export async function schemaDifference(databaseUrl: string, schema: string): Promise<string> {
  const files = [{ path: 'schema.prisma', content: schema }];
  const { exitCode, stdout } = await withSchemaEngine(databaseUrl, schema, (engine) =>
    engine.diff({
      from: { tag: 'schemaDatasource', files, configDir: '.' },
      to: { tag: 'schemaDatamodel', files },
      script: true,
      exitCode: true,
      filters: noFilters,
    }),
  );
  return exitCode === 0 ? '' : (stdout ?? '');
}

/** What `prisma migrate status` finds. `history` is null when a database has all migrations of a folder and no others. */
export async function migrationStatus(
  databaseUrl: string,
  schema: string,
  migrations: readonly SqlFile[],
): Promise<glue.DiagnoseMigrationHistoryOutput> {
  const migrationDirectories = migrations.map(({ name, sql }) => ({
    path: name,
    migrationFile: { path: 'migration.sql', content: { tag: 'ok' as const, value: sql } },
  }));
  return await withSchemaEngine(databaseUrl, schema, (engine) =>
    engine.diagnoseMigrationHistory({
      migrationsList: {
        baseDir: '/migrations',
        lockfile: { path: 'migration_lock.toml', content: 'provider = "postgresql"' },
        shadowDbInitScript: '',
        migrationDirectories,
      },
      optInToShadowDatabase: false,
      filters: noFilters,
    }),
  );
}

const noFilters = { externalTables: [], externalEnums: [] };

/**
 * Opens Prisma's schema engine for the duration of the work. As WebAssembly it needs no download. Update its version in
 * package.json together with that of `prisma`.
 * @param schema text of the Prisma schema.
 */
async function withSchemaEngine<T>(
  databaseUrl: string,
  schema: string,
  work: (engine: glue.SchemaEngine) => Promise<T>,
): Promise<T> {
  loadOnce();
  const client = new pg.Client({ connectionString: databaseUrl });
  await client.connect();
  try {
    const engine = await glue.SchemaEngine.new(
      { datamodels: [['schema.prisma', schema]] },
      () => {},
      bindMigrationAwareSqlAdapterFactory(catalogAdapter(client)),
    );
    try {
      return await work(engine);
    } finally {
      engine.free();
    }
  } finally {
    await client.end();
  }
}

/** Reads the system catalogs, whose type "char" @prisma/adapter-pg does not know. */
function catalogAdapter(client: pg.Client): SqlMigrationAwareDriverAdapterFactory {
  const names = { provider: 'postgres', adapterName: 'catalog' } as const;
  const refuse = () => Promise.reject(new Error('The schema engine only reads.'));
  return {
    ...names,
    connect: async () => ({
      ...names,
      queryRaw: async ({ sql, args }) => {
        const { fields, rows } = await client.query({ text: sql, values: args, rowMode: 'array' });
        return {
          columnNames: fields.map(({ name }) => name),
          columnTypes: fields.map(({ dataTypeID }) => columnTypes[dataTypeID] ?? ColumnTypeEnum.Text),
          rows: rows.map((row) => row.map((value) => (value instanceof Date ? value.toISOString() : value))),
        };
      },
      executeRaw: refuse,
      executeScript: refuse,
      startTransaction: refuse,
      getConnectionInfo: () => ({ schemaName: 'public', supportsRelationJoins: true }),
      dispose: async () => {},
    }),
    connectToShadowDb: refuse,
  };
}

/** By type oid; other columns of the catalogs and of Prisma's history are text. */
const columnTypes: Record<number, ColumnType> = {
  16: ColumnTypeEnum.Boolean,
  18: ColumnTypeEnum.Character,
  20: ColumnTypeEnum.Int64,
  21: ColumnTypeEnum.Int32,
  23: ColumnTypeEnum.Int32,
  26: ColumnTypeEnum.Int64,
  1009: ColumnTypeEnum.TextArray,
  1184: ColumnTypeEnum.DateTime,
};

let loaded = false;

/** The package's entry imports the .wasm file as a module, which Node supports only behind a flag. */
function loadOnce(): void {
  if (loaded) return;
  const gluePath = createRequire(import.meta.url).resolve('@prisma/schema-engine-wasm/schema_engine_bg');
  const binary = readFileSync(gluePath.replace(/\.js$/, '.wasm'));
  const { WebAssembly } = globalThis as unknown as { WebAssembly: WebAssemblyApi };
  const { exports } = new WebAssembly.Instance(new WebAssembly.Module(binary), {
    './schema_engine_bg.js': { ...glue },
  });
  glue.__wbg_set_wasm(exports);
  exports.__wbindgen_start();
  loaded = true;
}

/** TypeScript declares WebAssembly only with the DOM. */
interface WebAssemblyApi {
  Module: new (binary: Uint8Array) => object;
  Instance: new (module: object, imports: object) => { exports: { __wbindgen_start(): void } };
}
