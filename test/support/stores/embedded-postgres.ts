import { type ChildProcessByStdio, execFileSync, spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import {
  chmodSync,
  chownSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import type { Readable } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';
import { freePort } from '../processes/free-port.ts';
import { type Reaper, startReaper } from '../processes/reaper.ts';
import { waitFor } from '../wait-for.ts';
import { findPostgresBinaries, type PostgresBinaries } from './postgres-binaries.ts';
import { type Account, accountFor, launchAs } from './server-account.ts';

export interface PostgresOptions {
  /** Kept for the next start; the caller keeps others from it. By default, a temporary folder that is removed at the end. */
  dataDir?: string;
  /** A free one by default. */
  port?: number;
  /** False is faster, and a power cut would lose data. */
  durable: boolean;
  /** Further settings of postgresql.conf. */
  settings?: Record<string, string>;
}

export interface RunningPostgres {
  /** Of the database `postgres`, as superuser. */
  url: string;
  port: number;
  pid: number;
  /** Resolves with the last lines of its log when the server has ended. */
  exited: Promise<string>;
  /** Ends open connections, writes everything to disk, and waits until the server has ended. */
  stop(): Promise<void>;
}

interface Cluster {
  dataDir: string;
  password: string;
  account: Account | null;
  binaries: PostgresBinaries;
}

const user = 'postgres';

/**
 * Starts the PostgreSQL that npm installed, on 127.0.0.1. It ends with this process at the latest.
 * @throws Error with the server's log when it does not start.
 */
export async function startPostgres(options: PostgresOptions): Promise<RunningPostgres> {
  const temporary = options.dataDir === undefined ? makeTemporaryFolder() : null;
  const dataDir = resolve(options.dataDir ?? join(temporary ?? '', 'data'));
  try {
    const cluster = await openCluster(dataDir);
    const port = options.port ?? (await freePort());
    const server = await startServer(cluster, [
      ...serverFlags(port, options.settings),
      ...speedFlags(options.durable),
    ]);
    const reaper = startReaper(server.pid, temporary === null ? 'INT' : 'QUIT', temporary);
    return supervise(server, reaper, {
      temporary,
      port,
      url: `postgresql://${user}:${cluster.password}@127.0.0.1:${port}/postgres`,
    });
  } catch (error) {
    if (temporary !== null) rmSync(temporary, { recursive: true, force: true });
    throw error;
  }
}

function makeTemporaryFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'refund-postgres-'));
  chmodSync(folder, 0o755);
  return folder;
}

async function openCluster(dataDir: string): Promise<Cluster> {
  mkdirSync(dirname(dataDir), { recursive: true });
  const account = accountFor(dataDir);
  const binaries = findPostgresBinaries();
  await endOrphan(dataDir);
  const passwordFile = `${dataDir}.password`;
  if (!existsSync(dataDir)) await createCluster(dataDir, passwordFile, account, binaries);
  return { dataDir, password: readFileSync(passwordFile, 'utf8').trim(), account, binaries };
}

/** Ends a server of an earlier run that was killed together with its reaper. */
async function endOrphan(dataDir: string): Promise<void> {
  const pidFile = join(dataDir, 'postmaster.pid');
  const pid = existsSync(pidFile) ? Number.parseInt(readFileSync(pidFile, 'utf8'), 10) : 0;
  const isRunning = () => pid > 0 && commandOf(pid).includes(dataDir);
  if (isRunning()) {
    process.kill(pid, 'SIGINT');
    await waitFor(`the PostgreSQL of an earlier run (process ${pid}) to end`, () => !isRunning());
  }
  // PostgreSQL would refuse to start if another program now had that process id.
  rmSync(pidFile, { force: true });
}

/** The command line of a process; empty when it has ended or is a zombie. */
function commandOf(pid: number): string {
  try {
    if (process.platform === 'linux') return readFileSync(`/proc/${pid}/cmdline`, 'utf8');
    return execFileSync('ps', ['-o', 'command=', '-p', String(pid)], { encoding: 'utf8' });
  } catch {
    return '';
  }
}

/** Moved to its place when complete, so that an interrupted initdb leaves nothing that looks usable. */
async function createCluster(
  dataDir: string,
  passwordFile: string,
  account: Account | null,
  binaries: PostgresBinaries,
): Promise<void> {
  const draft = `${dataDir}.new`;
  rmSync(draft, { recursive: true, force: true });
  mkdirSync(draft, { mode: 0o700 });
  rmSync(passwordFile, { force: true });
  writeFileSync(passwordFile, `${randomBytes(16).toString('hex')}\n`, { mode: 0o600 });
  if (account !== null) for (const path of [draft, passwordFile]) chownSync(path, account.uid, account.gid);
  const args = [
    ...['--pgdata', draft, '--username', user, '--pwfile', passwordFile, '--auth', 'scram-sha-256'],
    // The same collation and messages on every machine.
    ...['--encoding=UTF8', '--locale=C', '--locale-provider=builtin', '--builtin-locale=C.UTF-8'],
    '--no-sync',
  ];
  const launch = launchAs(account, binaries.initdb, args, [draft, passwordFile]);
  const child = spawn(launch.command, launch.args, {
    ...launch.options,
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  const log = keepLog(child.stderr);
  const code = await ended(child);
  if (code !== 0) throw new Error(`initdb failed (${code}): ${log()}`);
  renameSync(draft, dataDir);
}

function serverFlags(port: number, further: Record<string, string> = {}): string[] {
  const settings = {
    port,
    listen_addresses: '127.0.0.1',
    unix_socket_directories: '',
    max_connections: 300,
    shared_buffers: '64MB',
    // Of the passwords that are set here, which are random: each connection would cost 4,096 iterations on both sides.
    scram_iterations: 1,
    log_checkpoints: 'off',
    ...further,
  };
  return Object.entries(settings).flatMap(([name, value]) => ['-c', `${name}=${value}`]);
}

function speedFlags(durable: boolean): string[] {
  return durable
    ? []
    : ['fsync', 'synchronous_commit', 'full_page_writes'].flatMap((name) => ['-c', `${name}=off`]);
}

interface Server {
  child: ChildProcessByStdio<null, null, Readable>;
  pid: number;
  log: () => string;
}

/** After a kill, the shared memory stays in use until the last process of the server has ended. */
async function startServer(cluster: Cluster, flags: string[]): Promise<Server> {
  const giveUpAt = performance.now() + 10_000;
  for (;;) {
    const server = launchServer(cluster, flags);
    if (await becomesReady(server)) return server;
    const log = server.log();
    if (log.includes('pre-existing shared memory') && performance.now() < giveUpAt) {
      await sleep(200);
      continue;
    }
    throw new Error(`PostgreSQL did not start in ${cluster.dataDir}: ${log}`);
  }
}

function launchServer({ dataDir, account, binaries }: Cluster, flags: string[]): Server {
  const launch = launchAs(account, binaries.postgres, ['-D', dataDir, ...flags], [dataDir]);
  const child = spawn(launch.command, launch.args, {
    ...launch.options,
    // A separate process group, so that Ctrl-C does not end the database before its clients.
    detached: true,
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  return { child, pid: child.pid ?? -1, log: keepLog(child.stderr) };
}

/** Resolves to false when the server ends before it accepts connections. */
function becomesReady({ child }: Server): Promise<boolean> {
  return new Promise((resolve) => {
    child.stderr.on('data', (text: string) => {
      if (text.includes('ready to accept connections')) resolve(true);
    });
    ended(child).then(() => resolve(false));
  });
}

interface Place {
  temporary: string | null;
  port: number;
  url: string;
}

function supervise({ child, pid, log }: Server, reaper: Reaper, place: Place): RunningPostgres {
  const exited = ended(child).then(() => {
    reaper.dismiss();
    if (place.temporary !== null) rmSync(place.temporary, { recursive: true, force: true });
    return log();
  });
  const stop = async () => {
    // A checkpoint may be slow, and a server may hang.
    const signals = ['SIGINT', 'SIGQUIT', 'SIGKILL'] as const;
    for (const signal of signals) {
      child.kill(signal);
      if ((await Promise.race([exited, sleep(15_000, null, { ref: false })])) !== null) return;
    }
  };
  return { url: place.url, port: place.port, pid, exited, stop };
}

function ended(child: ChildProcessByStdio<null, null, Readable>): Promise<number | null> {
  if (child.exitCode !== null || child.signalCode !== null) return Promise.resolve(child.exitCode);
  return new Promise((resolve) => {
    child.once('error', () => resolve(null));
    child.once('close', (code) => resolve(code));
  });
}

/** Keeps the end of a stream, for error messages. */
function keepLog(stream: Readable): () => string {
  let text = '';
  stream.setEncoding('utf8');
  stream.on('data', (chunk: string) => {
    text = (text + chunk).slice(-4_000);
  });
  return () => text.trim();
}
