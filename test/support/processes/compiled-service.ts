import { execFile } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { join, relative, resolve } from 'node:path';
import { promisify } from 'node:util';

/** The service as it is deployed: compiled, without tsx. */
export interface CompiledService {
  /** A compiled file as `startProcess` takes it. @param file such as `api/main.js`. */
  entry(file: string): string;
}

const root = resolve(import.meta.dirname, '..', '..', '..');

/**
 * Compiles the service.
 * @returns a new folder with its JavaScript, to be removed with `removeCompiled`.
 */
export async function compileService(): Promise<string> {
  // Inside of the project, where Node finds the packages; dist/ may hold a build that is in use.
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
  if (!existsSync(join(root, 'shared', 'client', 'openapi.ts')))
    await runNode('--import', 'tsx', join('test', 'dev', 'write-client-types.ts'));
  // `npm run check` checks the types. Without those of packages, compiling takes a third of the time.
  await runNode('--import', 'tsx', 'build.ts', folder, '--noCheck', '--noResolve');
}

async function runNode(...args: string[]): Promise<void> {
  await promisify(execFile)(process.execPath, args, { cwd: root });
}

export function removeCompiled(folder: string): void {
  rmSync(folder, { recursive: true, force: true });
}

/** @param folder where `compileService` left it. */
export function compiledIn(folder: string): CompiledService {
  return { entry: (file) => relative(root, join(folder, file)) };
}
