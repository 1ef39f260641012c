import { randomBytes } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Environment } from '../../../shared/platform/environment.ts';
import { migrateQueueTables } from '../../../shared/platform/queues.ts';
import { seed } from '../../dev/seed.ts';
import { type SandboxControl, sandboxControl } from '../../sandbox/clients.ts';
import { type CompiledService, compiledIn } from '../../support/processes/compiled-service.ts';
import { freePorts } from '../../support/processes/free-port.ts';
import type { QueueBackend } from '../../support/stores/backends.ts';
import { OwnPostgres, OwnRedis } from '../../support/stores/own-stores.ts';
import { serviceEnvironment } from './settings.ts';
import { type Program, SupervisedProcess } from './supervised-process.ts';

/** The service as it runs in production, on stores and before processors of its own. */
export interface Deployment {
  /** Logs, and the ledger of the processors. */
  folder: string;
  postgres: OwnPostgres;
  /** Null when the queues are in PostgreSQL. */
  redis: OwnRedis | null;
  sandbox: SupervisedProcess;
  control: SandboxControl;
  apis: SupervisedProcess[];
  workers: SupervisedProcess[];
  apiUrls: string[];
  keys: Record<Environment, string>;
  /** Waits until every process works. */
  ready(): Promise<void>;
  /** Ends everything; data and logs are left behind when they are to be looked at. */
  close(options: { keepData: boolean }): Promise<void>;
}

const workerCount = 3;

/** How long a refund is open at its processor: long enough to be cancelled there. */
const autoSettleMs = 400;

/** How long every call takes at a processor: long enough for a worker to be killed in the middle of one. */
const latencyMs = 40;

/** What takes a second on a machine that does nothing else. */
const startTimeoutMs = 90_000;

/**
 * Starts two APIs, three workers, a sandbox, a PostgreSQL and, unless the queues are there, a Redis.
 * @param compiledFolder where the service is compiled.
 */
export async function deploy(queues: QueueBackend['name'], compiledFolder: string): Promise<Deployment> {
  const folder = mkdtempSync(join(tmpdir(), 'refund-chaos-'));
  const stores = await startStores(queues);
  const processes = await startProcesses(folder, compiledIn(compiledFolder), stores);
  const { apis, workers, sandbox } = processes;
  const all = [...apis, ...workers, sandbox];
  const deployment: Deployment = {
    folder,
    ...stores,
    ...processes,
    async ready() {
      await Promise.all(all.map((process) => process.ready()));
    },
    async close({ keepData }) {
      await Promise.all(all.map((process) => process.stop()));
      await stores.redis?.stop();
      if (keepData) await stores.postgres.stop();
      else await stores.postgres.remove();
      if (!keepData) rmSync(folder, { recursive: true, force: true });
    },
  };
  try {
    await deployment.ready();
    await deployment.control.settings({ autoSettleMs, latencyMs });
    return deployment;
  } catch (error) {
    await deployment.close({ keepData: false });
    throw error;
  }
}

type Stores = Pick<Deployment, 'postgres' | 'redis'>;

async function startStores(queues: QueueBackend['name']): Promise<Stores> {
  const postgres = await OwnPostgres.start({ durable: true });
  if (queues === 'postgres') {
    await migrateQueueTables(postgres.url);
    return { postgres, redis: null };
  }
  const redis = await OwnRedis.prepare();
  await redis.start();
  return { postgres, redis };
}

type Processes = Pick<Deployment, 'sandbox' | 'control' | 'apis' | 'workers' | 'apiUrls' | 'keys'>;

async function startProcesses(
  folder: string,
  compiled: CompiledService,
  { postgres, redis }: Stores,
): Promise<Processes> {
  const [sandboxPort = 0, ...apiPorts] = await freePorts(3);
  const sandboxUrl = `http://127.0.0.1:${sandboxPort}`;
  const encryptionKey = randomBytes(32).toString('base64');
  const { keys } = await seed({ databaseUrl: postgres.url, encryptionKey, sandboxUrl, remembered: null });
  const env = serviceEnvironment({ databaseUrl: postgres.url, redisUrl: redis?.url ?? null, encryptionKey });
  const start = (program: Omit<Program, 'logFile'>) =>
    new SupervisedProcess({ ...program, logFile: join(folder, `${program.name}.log`) });
  const sandbox = start({
    name: 'sandbox',
    entry: 'test/sandbox/main.ts',
    args: ['--port', String(sandboxPort), '--data-file', join(folder, 'sandbox.journal')],
    ready: (process) => process.waitForUrl(`${sandboxUrl}/_sandbox/health`, { timeoutMs: startTimeoutMs }),
  });
  const apiUrls = apiPorts.map((port) => `http://127.0.0.1:${port}`);
  const apis = apiUrls.map((url, index) =>
    start({
      name: `api-${index + 1}`,
      entry: compiled.entry('api/main.js'),
      env: { ...env, PORT: new URL(url).port },
      ready: (process) => process.waitForUrl(`${url}/readyz`, { timeoutMs: startTimeoutMs }),
    }),
  );
  const workers = Array.from({ length: workerCount }, (_, index) =>
    start({
      name: `worker-${index + 1}`,
      entry: compiled.entry('worker/main.js'),
      env,
      ready: (process) => process.waitForOutput(/"working"/, { timeoutMs: startTimeoutMs }),
    }),
  );
  return { sandbox, control: sandboxControl(sandboxUrl), apis, workers, apiUrls, keys };
}
