import { execFile } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { madeBeforeTests } from '../made-before-tests.ts';

const run = promisify(execFile);
const root = resolve(import.meta.dirname, '..', '..', '..');

/** A project that has the packed packages installed, and can be compiled. */
export interface ClientProject {
  folder: string;
  /** What npm said when it installed them. */
  installed: string;
  /** Of the packed client. */
  clientBytes: number;
  /** Adds a file. */
  write(name: string, content: string): void;
  /** Compiles its TypeScript. @returns what the compiler prints; empty without errors. */
  compile(...options: string[]): Promise<string>;
}

/** Gives a test file such a project, with the client and the program for MCP as they are built and packed. */
export function useClientProject(): ClientProject {
  return madeBeforeTests('The project', makeProject, async ({ folder }) =>
    rmSync(folder, { recursive: true }),
  );
}

async function makeProject(): Promise<ClientProject> {
  const folder = mkdtempSync(join(tmpdir(), 'client-project-'));
  const write = (name: string, content: string) => writeFileSync(join(folder, name), content);
  write('package.json', JSON.stringify({ type: 'module' }));
  const [client = '', mcp = ''] = await Promise.all(['client', 'mcp'].map((name) => pack(name, folder)));
  const install = ['install', '--offline', '--engine-strict', '--no-audit', '--no-fund', client, mcp];
  const { stdout, stderr } = await run('npm', install, { cwd: folder });
  const types = join(folder, 'node_modules', '@types');
  mkdirSync(types);
  symlinkSync(join(root, 'node_modules', '@types', 'node'), join(types, 'node'));
  return {
    folder,
    installed: `${stdout}${stderr}`.trim(),
    clientBytes: statSync(join(folder, client)).size,
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

/** Builds and packs a package. @returns the name of its file in the folder. */
async function pack(name: string, folder: string): Promise<string> {
  const built = join(folder, 'built', name);
  await run(process.execPath, ['--import', 'tsx', 'build-packages.ts', name, built], { cwd: root });
  const { stdout } = await run('npm', ['pack', '--silent', built], { cwd: folder });
  return `./${stdout.trim()}`;
}
