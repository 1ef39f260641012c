import { execFileSync } from 'node:child_process';
import { linkSync, readFileSync, rmSync, writeFileSync } from 'node:fs';

/** A running process holds the lock. */
export class LockedError extends Error {
  override readonly name = 'LockedError';
  readonly holder: number | null;

  /** @param holder its process id; null when it is not known yet. */
  constructor(holder: number | null) {
    super(`Process ${holder ?? 'just started'} holds the lock.`);
    this.holder = holder;
  }
}

/**
 * Takes a lock file for this process, also one of a process that has ended.
 * @returns releases the lock.
 * @throws LockedError when a running process holds it.
 */
export function takeLock(lock: string): () => void {
  const own = `${identityOf(process.pid)}\n`;
  // A link appears with its content, so that no process reads half a lock.
  const draft = `${lock}.${process.pid}`;
  writeFileSync(draft, own);
  try {
    if (!link(draft, lock)) {
      const holder = readHolder(lock);
      if (holder !== null) throw new LockedError(holder);
      rmSync(lock, { force: true });
      if (!link(draft, lock)) throw new LockedError(null);
    }
  } finally {
    rmSync(draft, { force: true });
  }
  return () => {
    if (readText(lock) === own) rmSync(lock, { force: true });
  };
}

function link(from: string, to: string): boolean {
  try {
    linkSync(from, to);
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false;
    throw error;
  }
}

/** The process that holds the lock, or null when it has ended. */
function readHolder(lock: string): number | null {
  const identity = readText(lock).trim();
  const pid = Number.parseInt(identity, 10);
  return pid > 0 && identityOf(pid) === identity ? pid : null;
}

/** A process id with its start time, because ids are reused, in a container soon. */
function identityOf(pid: number): string {
  return `${pid} ${startOf(pid) ?? 'ended'}`;
}

function startOf(pid: number): string | null {
  try {
    if (process.platform === 'linux') {
      // The second field is the program's name in parentheses and may hold anything; the start is the 22nd.
      const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
      const [state, ...rest] = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
      return state === 'Z' ? null : (rest[18] ?? null);
    }
    return execFileSync('ps', ['-o', 'lstart=', '-p', String(pid)], { encoding: 'utf8' }).trim() || null;
  } catch {
    return null;
  }
}

function readText(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return '';
  }
}
