import { mkdirSync } from 'node:fs';
import { join, resolve } from 'node:path';
import type { Settings } from '#shared/platform/config.ts';
import { freePort, isFree } from '../support/processes/free-port.ts';
import { connectWebhooks } from './connect-webhooks.ts';
import { claimDataDir, type DevFile, readDevFile, readEncryptionKey, writeDevFile } from './data-dir.ts';
import { type DevDatabase, openDevDatabase } from './database.ts';
import { pickPort, portOf } from './ports.ts';
import { type KeptProgram, keepProgram, prefixOf, StartError, waitUntilReady } from './program.ts';
import { type Seed, seed } from './seed.ts';

export interface StackOptions {
  settings: Settings;
  /** Inherited by the processes. */
  env: NodeJS.ProcessEnv;
  /** Takes output, a line at a time. */
  say: (line: string) => void;
  /** Cancels the start at the next step. */
  signal: AbortSignal;
}

/** The whole service on this machine. */
export interface Stack {
  dataDir: string;
  /** The content of `dev.json`. */
  description(): DevFile;
  /** Stops everything in order, and waits until it has ended. */
  stop(): Promise<void>;
}

/** Stops what was started so far, the latest last. */
type Teardown = (() => Promise<void> | void)[];

const graceMs = { api: 5_000, worker: 5_000, sandbox: 2_000 };

/**
 * Starts PostgreSQL, the sandbox, the API and a worker, and writes `dev.json` once the API answers.
 * @throws StartError when the port or the data directory is in use, or a process does not start. Nothing is left running.
 */
export async function startStack(options: StackOptions): Promise<Stack> {
  const teardown: Teardown = [];
  const stop = async () => {
    for (let undo = teardown.pop(); undo !== undefined; undo = teardown.pop()) await undo();
  };
  try {
    return { ...(await start(options, teardown)), stop };
  } catch (error) {
    await stop();
    throw error;
  }
}

async function start(options: StackOptions, teardown: Teardown): Promise<Omit<Stack, 'stop'>> {
  const { settings, signal } = options;
  const dataDir = resolve(settings.DATA_DIR);
  // For its owner alone. A folder that exists may hold more than this, so it stays as it is; each file in it is private as well.
  mkdirSync(dataDir, { recursive: true, mode: 0o700 });
  teardown.push(await claimDataDir(dataDir));
  const apiPort = settings.PORT === 0 ? await freePort() : settings.PORT;
  await requireFree(apiPort, settings.HOST);

  const remembered = readDevFile(dataDir);
  const encryptionKey = settings.ENCRYPTION_KEY ?? readEncryptionKey(dataDir);
  const database = await openDatabase(options, dataDir, remembered);
  teardown.push(() => database.stop());
  signal.throwIfAborted();

  const programs = superviseIn(options, teardown);
  const smtpPort = await freePort();
  const sandboxPort = await pickPort(portOf(remembered?.sandboxUrl), settings.PORT === 0 ? null : 4010);
  const sandboxUrl = `http://127.0.0.1:${sandboxPort}`;
  const sandbox = await programs.keep('sandbox', options.env, sandboxArgs(dataDir, sandboxPort, smtpPort));
  await waitUntilReady(`${sandboxUrl}/_sandbox/health`, [sandbox], signal);
  const seeded = await seed({ databaseUrl: database.url, encryptionKey, sandboxUrl, remembered });
  signal.throwIfAborted();
  const place = { dataDir, apiPort, smtpPort, sandbox, sandboxUrl, database, encryptionKey };
  return await startPrograms(options, place, seeded, programs);
}

const entries = {
  api: 'api/main.ts',
  worker: 'worker/main.ts',
  sandbox: 'test/sandbox/main.ts',
};

interface Programs {
  /** Starts a program and keeps it running until `stop`. */
  keep: (name: keyof typeof entries, env: NodeJS.ProcessEnv, args?: string[]) => Promise<KeptProgram>;
  /** Called when a program was restarted. */
  onRestart: (() => void) | null;
}

function superviseIn({ say }: StackOptions, teardown: Teardown): Programs {
  const programs: Programs = {
    async keep(name, env, args = []) {
      const program = { name, entry: entries[name], args, env, showsOutput: name !== 'sandbox' };
      const kept = await keepProgram(program, { say, onRestart: () => programs.onRestart?.() });
      teardown.push(() => kept.stop(({ stop }) => stop(graceMs[name])));
      return kept;
    },
    onRestart: null,
  };
  return programs;
}

function sandboxArgs(dataDir: string, port: number, smtpPort: number): string[] {
  const ports = ['--port', String(port), '--smtp-port', String(smtpPort)];
  return [...ports, '--data-file', join(dataDir, 'sandbox.journal')];
}

interface Place {
  dataDir: string;
  apiPort: number;
  /** Of the sandbox's mail server. */
  smtpPort: number;
  sandbox: KeptProgram;
  sandboxUrl: string;
  database: DevDatabase;
  encryptionKey: string;
}

async function startPrograms(
  { settings, env, signal }: StackOptions,
  { dataDir, apiPort, smtpPort, sandbox, sandboxUrl, database, encryptionKey }: Place,
  { organizationId, keys, owner }: Seed,
  programs: Programs,
): Promise<Omit<Stack, 'stop'>> {
  const apiUrl = `http://${reachableHost(settings.HOST)}:${apiPort}`;
  const serviceEnv = {
    SMTP_URL: `smtp://127.0.0.1:${smtpPort}`,
    MAIL_FROM: 'Refund service <refunds@example.com>',
    PUBLIC_URL: apiUrl,
    ...env,
    DATABASE_URL: database.url,
    DATABASE_OWNER_URL: undefined,
    ENCRYPTION_KEY: encryptionKey,
    PORT: String(apiPort),
    DATA_DIR: dataDir,
    // Lets the dashboard set up accounts at the sandbox.
    DASHBOARD_SETS_ADDRESSES: env.DASHBOARD_SETS_ADDRESSES ?? 'true',
  };
  const worker = await programs.keep('worker', { ...serviceEnv, ...nextMetricsPort(settings) });
  const api = await programs.keep('api', serviceEnv);

  await waitUntilReady(`${apiUrl}/readyz`, [api, worker], signal);
  await connectWebhooks({ databaseUrl: database.url, organizationId, sandboxUrl, apiUrl });
  const description = (): DevFile => ({
    apiUrl,
    organizationId,
    keys,
    dashboard: { url: `${apiUrl}/dashboard`, ...owner },
    sandboxUrl,
    databaseUrl: database.url,
    databaseOwnerUrl: database.ownerUrl,
    redisUrl: settings.REDIS_URL,
    processes: pids(api, worker, sandbox),
  });
  programs.onRestart = () => writeDevFile(dataDir, description());
  programs.onRestart();
  return { dataDir, description };
}

/** Two processes cannot share a port. */
function nextMetricsPort({ METRICS_PORT: port }: Settings): NodeJS.ProcessEnv {
  return port === undefined || port === 0 ? {} : { METRICS_PORT: String(port + 1) };
}

function pids(api: KeptProgram, worker: KeptProgram, sandbox: KeptProgram): DevFile['processes'] {
  return { api: api.current().pid, workers: [worker.current().pid], sandbox: sandbox.current().pid };
}

async function openDatabase(
  { settings, say }: StackOptions,
  dataDir: string,
  remembered: DevFile | null,
): Promise<DevDatabase> {
  return await openDevDatabase({
    dataDir,
    givenUrl: settings.DATABASE_URL,
    givenOwnerUrl: settings.DATABASE_OWNER_URL,
    redisUrl: settings.REDIS_URL,
    preferredPort: settings.DATABASE_URL === null ? portOf(remembered?.databaseUrl) : null,
    say: (line) => say(`${prefixOf('dev')}${line}`),
  });
}

async function requireFree(port: number, host: string): Promise<void> {
  if (await isFree(port, host)) return;
  throw new StartError(`Another program uses port ${port}. Stop it, or set PORT to a free port.`);
}

/** The host for local calls to an API that listens on `host`. */
function reachableHost(host: string): string {
  if (host === '0.0.0.0' || host === '::') return '127.0.0.1';
  return host.includes(':') ? `[${host}]` : host;
}
