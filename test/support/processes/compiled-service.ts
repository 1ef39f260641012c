import { execFile } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { join, relative, resolve } from 'node:path';
import { promisify } from 'node:util';

/** The service as it is deployed: compiled, without tsx. */
export interface CompiledService {
  /** A compiled file as `startProcess` takes it. @param file such as `api/main.js`. */
  entry(file: string): string;
  /** What is loaded into a process before the service. */
  preload(trouble: Trouble): string;
}

/** What makes trouble inside of a process: files of this folder. */
const troubles = ['false-system-time', 'busy-event-loop'] as const;

export type Trouble = (typeof troubles)[number];

/** What pages are made of and the compiler leaves where it is. */
const assets = join('api', 'dashboard', 'assets');

const root = resolve(import.meta.dirname, '..', '..', '..');

/**
 * Compiles the service into a folder of its own; whoever called removes it in the end.
 * @returns the folder.
 */
export async function compileService(): Promise<string> {
  // Inside of the project, so that the packages are found, and not in dist/, which may be somebody's.
  const output = join(root, 'test', 'output');
  mkdirSync(output, { recursive: true });
  const folder = mkdtempSync(join(output, 'compiled-'));
  try {
    await compileInto(folder);
  } catch (error) {
    removeCompiled(folder);
    throw error;
  }
  return folder;
}

async function compileInto(folder: string): Promise<void> {
  await compile('-p', 'tsconfig.build.json', '--outDir', folder);
  await compile(
    ...['--ignoreConfig', '--module', 'nodenext', '--target', 'es2023', '--types', 'node', '--skipLibCheck'],
    ...['--outDir', troublesIn(folder), ...troubles.map((name) => join(import.meta.dirname, `${name}.ts`))],
  );
  cpSync(join(root, assets), join(folder, assets), { recursive: true });
}

async function compile(...options: string[]): Promise<void> {
  const compiler = join(root, 'node_modules', 'typescript', 'bin', 'tsc');
  await promisify(execFile)(process.execPath, [compiler, ...options], { cwd: root });
}

export function removeCompiled(folder: string): void {
  rmSync(folder, { recursive: true, force: true });
}

/** @param folder where `compileService` left it. */
export function compiledIn(folder: string): CompiledService {
  return {
    entry: (file) => relative(root, join(folder, file)),
    preload: (trouble) => relative(root, join(troublesIn(folder), `${trouble}.js`)),
  };
}

const troublesIn = (folder: string) => join(folder, 'troubles');
