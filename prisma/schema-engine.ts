import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import {
  bindMigrationAwareSqlAdapterFactory,
  type SqlMigrationAwareDriverAdapterFactory,
} from '@prisma/driver-adapter-utils';
import * as glue from '@prisma/schema-engine-wasm/schema_engine_bg';

/**
 * Prisma's schema engine, compiled to WebAssembly: it needs no download, and it is the same on every machine. Its
 * version is pinned to the build of the Prisma release in package.json; the two have to change together.
 */
export type SchemaEngine = glue.SchemaEngine;

/** Nothing in the database is managed by someone else. */
export const noFilters = { externalTables: [], externalEnums: [] };

/**
 * Opens an engine on a database. It connects at once.
 * @param schema text of the Prisma schema the engine shall know.
 */
export async function openSchemaEngine(
  schema: string,
  adapterFactory: SqlMigrationAwareDriverAdapterFactory,
): Promise<SchemaEngine> {
  loadOnce();
  const ignoreLog = () => {};
  return glue.SchemaEngine.new(
    { datamodels: [['schema.prisma', schema]] },
    ignoreLog,
    bindMigrationAwareSqlAdapterFactory(adapterFactory),
  );
}

let loaded = false;

/** The package's own entry imports the .wasm file as a module, which Node only does behind a flag. */
function loadOnce(): void {
  if (loaded) return;
  const gluePath = createRequire(import.meta.url).resolve('@prisma/schema-engine-wasm/schema_engine_bg');
  const binary = readFileSync(gluePath.replace(/\.js$/, '.wasm'));
  const { WebAssembly } = globalThis as unknown as { WebAssembly: WebAssemblyApi };
  const { exports } = new WebAssembly.Instance(new WebAssembly.Module(binary), {
    './schema_engine_bg.js': withoutLingeringTimers({ ...glue }),
  });
  glue.__wbg_set_wasm(exports);
  exports.__wbindgen_start();
  loaded = true;
}

/** The engine leaves the timer of its own lock running, which would keep the process alive for ten more seconds. */
function withoutLingeringTimers(imports: Record<string, unknown>): Record<string, unknown> {
  for (const [name, original] of Object.entries(imports)) {
    if (!name.startsWith('__wbg_setTimeout_')) continue;
    imports[name] = (...args: unknown[]) =>
      (original as (...args: unknown[]) => NodeJS.Timeout)(...args).unref();
  }
  return imports;
}

/** As far as it is used here: TypeScript only knows it together with the rest of a browser. */
interface WebAssemblyApi {
  Module: new (binary: Uint8Array) => object;
  Instance: new (module: object, imports: object) => { exports: { __wbindgen_start(): void } };
}
