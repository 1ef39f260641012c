import { spawnSync } from 'node:child_process';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { packageRoot } from './migrations-folder.ts';

/**
 * Runs a command of the Prisma CLI in the project's root; prisma.config.ts keeps it from downloading engines.
 * @returns its exit code with everything it printed; null when Prisma, a development dependency, is not installed.
 */
export function runPrisma(...args: string[]): { code: number; output: string } | null {
  const manifest = resolvePrisma();
  if (manifest === null) return null;
  const cli = join(dirname(manifest), 'build', 'index.js');
  const { status, stdout, stderr, error } = spawnSync(process.execPath, [cli, ...args], {
    cwd: packageRoot,
    encoding: 'utf8',
  });
  return { code: status ?? 1, output: `${stdout ?? ''}${stderr ?? ''}${error?.message ?? ''}` };
}

function resolvePrisma(): string | null {
  try {
    return createRequire(import.meta.url).resolve('prisma/package.json');
  } catch {
    return null;
  }
}
