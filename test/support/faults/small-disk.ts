import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, statfsSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** A file system of its own that a test can fill up. */
export interface SmallDisk {
  /** Where it is mounted. */
  folder: string;
  /** Takes all the room that is left. */
  fill(): void;
  /** Gives it back. */
  clear(): void;
  /** Nothing may have files open there any more. */
  remove(): void;
}

/**
 * Mounts a file system in memory.
 * @returns null where that is not allowed, as it is for everybody but root.
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
      // Lazily: it is gone from the tree at once, and for good when the last file there is closed.
      spawnSync('umount', ['--lazy', folder]);
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

/** Again and again, because others write there, too, and give room back. */
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

/** True where a disk can be mounted at all. */
export function canMountDisks(): boolean {
  const disk = mountSmallDisk(1);
  disk?.remove();
  return disk !== null;
}
