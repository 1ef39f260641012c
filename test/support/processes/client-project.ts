import { execFile } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { inject } from 'vitest';
import { madeBeforeTests } from '../made-before-tests.ts';

const run = promisify(execFile);
const root = resolve(import.meta.dirname, '..', '..', '..');

/** A project that has the packed package installed, without its dependencies, and can be compiled. */
export interface ClientProject {
  folder: string;
  /** Adds a file. */
  write(name: string, content: string): void;
  /** Compiles its TypeScript. @returns what the compiler prints; empty without errors. */
  compile(...options: string[]): Promise<string>;
}

/** Gives a test file such a project, with the client as it is built and packed. */
export function useClientProject(): ClientProject {
  return madeBeforeTests('The project', makeProject, async ({ folder }) =>
    rmSync(folder, { recursive: true }),
  );
}

async function makeProject(): Promise<ClientProject> {
  const folder = mkdtempSync(join(tmpdir(), 'client-project-'));
  const write = (name: string, content: string) => writeFileSync(join(folder, name), content);
  write('package.json', JSON.stringify({ type: 'module' }));
  const packages = join(folder, 'node_modules');
  mkdirSync(join(packages, '@types'), { recursive: true });
  symlinkSync(join(root, 'node_modules', '@types', 'node'), join(packages, '@types', 'node'));
  await installPacked(join(packages, 'refund-service'));
  return {
    folder,
    write,
    async compile(...options) {
      const compiler = join(root, 'node_modules', 'typescript', 'bin', 'tsc');
      const always = ['--ignoreConfig', '--strict', '--target', 'es2023', '--types', 'node'];
      const compiled = run(process.execPath, [compiler, ...always, ...options], { cwd: folder });
      try {
        return (await compiled).stdout;
      } catch (error) {
        const { stdout = '' } = error as { stdout?: string };
        // The compiler itself failed.
        if (stdout === '') throw error;
        return stdout;
      }
    },
  };
}

/** Packs the compiled service, and unpacks it as `npm install` does. */
async function installPacked(target: string): Promise<void> {
  const packed = mkdtempSync(join(tmpdir(), 'client-packed-'));
  for (const file of ['package.json', 'README.md', 'LICENSE']) cpSync(join(root, file), join(packed, file));
  cpSync(inject('compiledFolder'), join(packed, 'dist'), { recursive: true });
  const { stdout } = await run('npm', ['pack', '--json', '--ignore-scripts'], { cwd: packed });
  const [{ filename }] = JSON.parse(stdout);
  mkdirSync(target);
  await run('tar', ['-xzf', join(packed, filename), '--strip-components=1', '-C', target]);
  rmSync(packed, { recursive: true });
}
