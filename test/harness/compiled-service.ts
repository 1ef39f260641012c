import { execFile } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { join, relative, resolve } from 'node:path';
import { promisify } from 'node:util';

/** The service as it is deployed: compiled, without tsx. */
export interface CompiledService {
  /** Where it is. */
  folder: string;
  /** A compiled file as `startProcess` takes it. @param file such as `api/main.js`. */
  entry(file: string): string;
  remove(): void;
}

/** What pages are made of and the compiler leaves where it is. */
const assets = join('api', 'dashboard', 'assets');

const root = resolve(import.meta.dirname, '..', '..');

/** Compiles it into a folder of its own. */
export async function compileService(): Promise<CompiledService> {
  // Inside of the project, so that the packages are found, and not in dist/, which may be somebody's.
  const output = join(root, 'test', 'output');
  mkdirSync(output, { recursive: true });
  const folder = mkdtempSync(join(output, 'compiled-'));
  const compiler = join(root, 'node_modules', 'typescript', 'bin', 'tsc');
  const args = [compiler, '-p', 'tsconfig.build.json', '--outDir', folder];
  await promisify(execFile)(process.execPath, args, { cwd: root });
  cpSync(join(root, assets), join(folder, assets), { recursive: true });
  return {
    folder,
    entry: (file) => relative(root, join(folder, file)),
    remove: () => rmSync(folder, { recursive: true, force: true }),
  };
}
