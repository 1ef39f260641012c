import { mkdirSync } from 'node:fs';
import { join, resolve } from 'node:path';
import type { Settings } from '../../shared/platform/config.ts';
import { freePort } from '../support/processes/free-port.ts';
import { claimDataDir } from './claim.ts';
import { connectWebhooks } from './connect-webhooks.ts';
import { type DevDatabase, openDevDatabase } from './database.ts';
import { type DevFile, readDevFile, writeDevFile } from './dev-file.ts';
import { readEncryptionKey } from './encryption-key.ts';
import { candidatePorts, isFree, portOf } from './ports.ts';
import { type KeptProgram, keepRunning, prefixOf } from './program.ts';
import { waitUntilReady } from './ready.ts';
import { type Seed, seed } from './seed.ts';
import { StartError } from './start-error.ts';
import { type RunningSandbox, startSandbox } from './start-sandbox.ts';

export interface StackOptions {
  settings: Settings;
  /** What the processes inherit. */
  env: NodeJS.ProcessEnv;
  /** Takes what there is to tell, a line at a time. */
  say: (line: string) => void;
  /** Gives up the start at the next step. */
  signal: AbortSignal;
}

/** The whole service on this machine. */
export interface Stack {
  dataDir: string;
  /** What `dev.json` says. */
  description(): DevFile;
  /** Ends everything, in order, and returns when it is gone. */
  stop(): Promise<void>;
}

/** What has been started so far, newest last. */
type Teardown = (() => Promise<void> | void)[];

const graceMs = { api: 5_000, worker: 5_000, sandbox: 2_000 };

/**
 * Starts PostgreSQL, the sandbox, the API and a worker, and writes `dev.json` once the API answers.
 * @throws StartError when the port or the data directory is taken, or a process does not start; nothing is left running.
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
  mkdirSync(dataDir, { recursive: true });
  teardown.push(claimDataDir(dataDir));
  const apiPort = settings.PORT === 0 ? await freePort() : settings.PORT;
  await requireFree(apiPort, settings.HOST);

  const remembered = readDevFile(dataDir);
  const encryptionKey = settings.ENCRYPTION_KEY ?? readEncryptionKey(dataDir);
  const database = await openDatabase(options, dataDir, remembered);
  teardown.push(() => database.stop());
  signal.throwIfAborted();

  const programs = superviseIn(options, teardown);
  const sandbox = await startSandbox({
    ports: candidatePorts(portOf(remembered?.sandboxUrl), settings.PORT === 0 ? null : 4010),
    launch: (port) => programs.keep('sandbox', options.env, sandboxArgs(dataDir, port)),
    signal,
  });
  const seeded = await seed({
    databaseUrl: database.url,
    encryptionKey,
    sandboxUrl: sandbox.url,
    remembered,
  });
  signal.throwIfAborted();
  const place = { dataDir, apiPort, sandbox, database, encryptionKey };
  return await startPrograms(options, place, seeded, programs);
}

const entries = {
  api: 'api/main.ts',
  worker: 'worker/main.ts',
  sandbox: 'test/sandbox/main.ts',
};

interface Programs {
  /** Starts a program and keeps it running until everything is torn down. */
  keep: (name: keyof typeof entries, env: NodeJS.ProcessEnv, args?: string[]) => KeptProgram;
  /** Called from then on when one runs again under a new process id. */
  onRestart: (() => void) | null;
}

function superviseIn({ say }: StackOptions, teardown: Teardown): Programs {
  const programs: Programs = {
    keep(name, env, args = []) {
      const program = { name, entry: entries[name], args, env, showsOutput: name !== 'sandbox' };
      const kept = keepRunning(program, { say, onRestart: () => programs.onRestart?.() });
      teardown.push(() => kept.stop(graceMs[name]));
      return kept;
    },
    onRestart: null,
  };
  return programs;
}

function sandboxArgs(dataDir: string, port: number): string[] {
  return ['--port', String(port), '--data-file', join(dataDir, 'sandbox.journal')];
}

interface Place {
  dataDir: string;
  apiPort: number;
  sandbox: RunningSandbox;
  database: DevDatabase;
  encryptionKey: string;
}

async function startPrograms(
  { settings, env, signal }: StackOptions,
  { dataDir, apiPort, sandbox, database, encryptionKey }: Place,
  { organizationId, keys, owner }: Seed,
  programs: Programs,
): Promise<Omit<Stack, 'stop'>> {
  const serviceEnv = {
    ...env,
    DATABASE_URL: database.url,
    ENCRYPTION_KEY: encryptionKey,
    PORT: String(apiPort),
    DATA_DIR: dataDir,
    // Whoever develops sets up accounts that lead to the sandbox.
    DASHBOARD_SETS_ADDRESSES: env.DASHBOARD_SETS_ADDRESSES ?? 'true',
  };
  const worker = programs.keep('worker', serviceEnv);
  const api = programs.keep('api', serviceEnv);

  const apiUrl = `http://${reachableHost(settings.HOST)}:${apiPort}`;
  await waitUntilReady(`${apiUrl}/readyz`, [api, worker], signal);
  await connectWebhooks({ databaseUrl: database.url, organizationId, sandboxUrl: sandbox.url, apiUrl });
  const description = (): DevFile => ({
    apiUrl,
    organizationId,
    keys,
    dashboard: { url: `${apiUrl}/dashboard`, ...owner },
    sandboxUrl: sandbox.url,
    databaseUrl: database.url,
    redisUrl: settings.REDIS_URL,
    processes: pids(api, worker, sandbox.program),
  });
  programs.onRestart = () => writeDevFile(dataDir, description());
  programs.onRestart();
  return { dataDir, description };
}

function pids(api: KeptProgram, worker: KeptProgram, sandbox: KeptProgram): DevFile['processes'] {
  return { api: api.pid(), workers: [worker.pid()], sandbox: sandbox.pid() };
}

async function openDatabase(
  { settings, say }: StackOptions,
  dataDir: string,
  remembered: DevFile | null,
): Promise<DevDatabase> {
  return await openDevDatabase({
    dataDir,
    givenUrl: settings.DATABASE_URL,
    redisUrl: settings.REDIS_URL,
    preferredPort: settings.DATABASE_URL === null ? portOf(remembered?.databaseUrl) : null,
    say: (line) => say(`${prefixOf('dev')}${line}`),
  });
}

async function requireFree(port: number, host: string): Promise<void> {
  if (await isFree(port, host)) return;
  throw new StartError(`Port ${port} is taken by another program. Stop it, or set PORT to a free one.`);
}

/** An API that listens on every address is called on this machine's own. */
function reachableHost(host: string): string {
  if (host === '0.0.0.0' || host === '::') return '127.0.0.1';
  return host.includes(':') ? `[${host}]` : host;
}
