import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { waitFor } from '../wait-for.ts';

/**
 * Ensures that no PostgreSQL uses a data directory, and records this process as its owner. Cleans up after a crash.
 * @throws Error when another process that is still alive uses the directory.
 */
export async function claimDataDirectory(dataDir: string): Promise<void> {
  const server = runningServer(dataDir);
  if (server !== null) {
    const owner = readPid(ownerFile(dataDir));
    if (owner !== null && commandOf(owner) !== null) throw alreadyInUse(dataDir, owner);
    await endOrphan(server, dataDir);
  }
  // PostgreSQL would refuse to start if another program now had that process id.
  rmSync(pidFile(dataDir), { force: true });
  writeFileSync(ownerFile(dataDir), `${process.pid}\n`);
}

/** To be called once the server of this process has ended. */
export function releaseDataDirectory(dataDir: string): void {
  if (readPid(ownerFile(dataDir)) === process.pid) rmSync(ownerFile(dataDir), { force: true });
}

/** @param owner the process that started the server, where it is known. */
export function alreadyInUse(dataDir: string, owner: number | null): Error {
  const who = owner === null ? 'another process' : `process ${owner}`;
  return new Error(
    `The database in ${dataDir} is in use by ${who}. Stop it first, or choose another folder.`,
  );
}

function pidFile(dataDir: string): string {
  return join(dataDir, 'postmaster.pid');
}

function ownerFile(dataDir: string): string {
  return `${dataDir}.owner`;
}

function runningServer(dataDir: string): number | null {
  const pid = readPid(pidFile(dataDir));
  if (pid === null) return null;
  return commandOf(pid)?.includes(dataDir) ? pid : null;
}

function readPid(path: string): number | null {
  if (!existsSync(path)) return null;
  const pid = Number.parseInt(readFileSync(path, 'utf8'), 10);
  return pid > 0 ? pid : null;
}

/** The command line of a process; null when it has ended or is a zombie. */
function commandOf(pid: number): string | null {
  try {
    if (process.platform === 'linux') {
      return readFileSync(`/proc/${pid}/cmdline`, 'utf8').replaceAll('\0', ' ') || null;
    }
    return execFileSync('ps', ['-o', 'command=', '-p', String(pid)], { encoding: 'utf8' }).trim() || null;
  } catch {
    return null;
  }
}

/** Ends a server whose parent was killed together with its reaper. */
async function endOrphan(pid: number, dataDir: string): Promise<void> {
  process.kill(pid, 'SIGINT');
  await waitFor(
    `the PostgreSQL that an earlier run left behind (process ${pid}) to end`,
    () => runningServer(dataDir) === null,
    { timeoutMs: 20_000 },
  );
}
