import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, statfsSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** A file system that a test can fill. */
export interface SmallDisk {
  /** Where it is mounted. */
  folder: string;
  fill(): void;
  /** Frees what `fill` took. */
  clear(): void;
  /** No files may be open there. */
  remove(): void;
}

/**
 * Mounts a file system in memory.
 * @returns null where that is not allowed, usually because the user is not root.
 */
export function mountSmallDisk(megabytes: number): SmallDisk | null {
  const folder = mkdtempSync(join(tmpdir(), 'refund-disk-'));
  const options = `size=${megabytes}m,mode=755`;
  const { status } = spawnSync('mount', ['-t', 'tmpfs', '-o', options, 'refund-disk', folder]);
  if (status !== 0) {
    rmSync(folder, { recursive: true, force: true });
    return null;
  }
  const ballast = join(folder, 'ballast');
  return {
    folder,
    fill: () => fillUp(folder, ballast),
    clear: () => rmSync(ballast, { force: true }),
    remove: () => {
      // Lazily, because a process may still close its files.
      spawnSync('umount', ['--lazy', folder]);
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

/** Repeats, because other processes free space meanwhile. */
function fillUp(folder: string, ballast: string): void {
  for (;;) {
    const { bsize, bavail } = statfsSync(folder);
    if (bavail === 0) return;
    try {
      writeFileSync(ballast, Buffer.alloc(bsize * bavail), { flag: 'a' });
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ENOSPC') throw error;
    }
  }
}

/** True when this user can mount a disk. */
export function canMountDisks(): boolean {
  const disk = mountSmallDisk(1);
  disk?.remove();
  return disk !== null;
}
