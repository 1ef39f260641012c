import { randomBytes } from 'node:crypto';
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { migrate } from '#prisma/migrate.ts';
import { settingNames } from '#shared/platform/config.ts';
import { migrateQueueTables } from '#shared/platform/queues.ts';
import { processorNames } from '#shared/processors/registry.ts';
import { connectWebhooks } from '../dev/sandbox.ts';
import { seed } from '../dev/seed.ts';
import { type SandboxControl, sandboxControl } from '../sandbox/clients.ts';
import { type StartedProcess, startProcess } from '../support/processes/child-process.ts';
import type { CompiledService } from '../support/processes/compiled-service.ts';
import { freePort } from '../support/processes/free-port.ts';
import { createDatabase, query } from '../support/stores/database-client.ts';
import { type RunningPostgres, startPostgres } from '../support/stores/embedded-postgres.ts';
import { type RunningRedis, startRedis } from '../support/stores/redis.ts';
import { preloadNaked, preloadService } from './bulk-load.ts';
import type { QueueKind } from './options.ts';
import { call, knownPaymentAmount, knownPayments, Requests } from './requests.ts';
import type { Scenario } from './scenarios.ts';

/** An API, a worker, a database and a sandbox. */
export interface Pipeline {
  name: 'service' | 'naked';
  url: string;
  databaseUrl: string;
  sandbox: SandboxProcess;
  requests: Requests;
  api: StartedProcess;
  worker: StartedProcess;
  /** Starts another one. */
  startWorker(): StartedProcess;
  postgresPid: number;
  /** The webhook endpoint that accepts every event. */
  endpointId: string | null;
  /** From the start of the API's process to its first answer. */
  startUpMs: number;
  stop(): Promise<void>;
}

export interface ServicePipeline extends Pipeline {
  organizationId: string;
  encryptionKey: string;
}

export interface PipelineOptions {
  scenario: Scenario;
  stores: Stores;
  compiled: CompiledService;
  /** Takes the output of the processes. */
  folder: string;
}

/** Starts the service as in production: compiled, with default settings, without a rate limit. */
export async function startService(place: PipelineOptions): Promise<ServicePipeline> {
  const { scenario, stores, compiled } = place;
  const encryptionKey = randomBytes(32).toString('base64');
  const databaseUrl = await createDatabase(stores.postgres.url, 'service');
  await migrate(databaseUrl);
  if (stores.redis === null) await migrateQueueTables(databaseUrl, processorNames);
  const sandbox = await openSandbox('service', place);
  const sandboxUrl = sandbox.url;
  const { organizationId, keys } = await seed({ databaseUrl, encryptionKey, sandboxUrl, remembered: null });
  await preloadService(databaseUrl, organizationId, scenario);
  const env = {
    // In production, webhooks are not sent to the receiver's address. Nothing else that is measured depends on it.
    NODE_ENV: 'development',
    DATABASE_URL: databaseUrl,
    ENCRYPTION_KEY: encryptionKey,
    RATE_LIMIT_PER_SECOND: '0',
  };
  const api = { entry: compiled.entry('api/main.js'), args: [] };
  const worker = { entry: compiled.entry('worker/main.js'), args: [] };
  const processes = await startProcesses('service', place, { api, worker, env, sandbox });
  const requests = new Requests('service', keys.test);
  const service = { ...processes, databaseUrl, sandbox, requests, organizationId, encryptionKey };
  if (!scenario.webhooks) return service;
  await connectWebhooks({ databaseUrl, organizationId, sandboxUrl, apiUrl: service.url });
  const receiver = await startReceiver();
  const created = await call(service, '/v1/webhook-endpoints', {
    method: 'POST',
    body: { url: receiver.url },
  });
  const stop = async () => {
    await service.stop();
    await receiver.stop(5_000);
  };
  return { ...service, endpointId: (created as { id: string }).id, stop };
}

/** Starts a process that accepts every webhook. */
export async function startReceiver(): Promise<StartedProcess & { url: string }> {
  const port = await freePort();
  const url = `http://127.0.0.1:${port}`;
  const receiver = startProcess('test/bench/receiver.ts', { args: [String(port)] });
  await receiver.waitForUrl(url);
  return { ...receiver, url };
}

/** Starts the pipeline without safety that the service is compared with. */
export async function startNaked(place: PipelineOptions): Promise<Pipeline> {
  const { scenario, stores } = place;
  const databaseUrl = await createDatabase(stores.postgres.url, 'naked');
  await query(databaseUrl, nakedTables);
  if (stores.redis === null) await migrateQueueTables(databaseUrl, processorNames);
  await preloadNaked(databaseUrl, scenario);
  const entry = 'test/bench/naked.ts';
  const sandbox = await openSandbox('naked', place);
  const env = { NODE_ENV: 'production', DATABASE_URL: databaseUrl, SANDBOX_URL: sandbox.url };
  const [api, worker] = ['api', 'worker'].map((role) => ({ entry, args: [role] })) as [Program, Program];
  const processes = await startProcesses('naked', place, { api, worker, env, sandbox });
  if (scenario.webhooks) {
    const url = `${processes.url}/webhooks/stripe`;
    const webhooks = [{ processor: 'stripe', environment: 'test', url, secret: 'whsec_naked' }];
    await sandbox.control.settings({ webhooks });
  }
  return { ...processes, databaseUrl, sandbox, requests: new Requests('naked', 'none') };
}

const nakedTables = `
  create table refund (id text primary key, organization_id text not null, external_refund_id text,
    transaction_id text not null, amount int not null, currency text not null, reason text not null, status text not null,
    processor text not null, metadata jsonb, initiated_by text not null, created_at timestamptz not null,
    updated_at timestamptz not null);
  create index on refund (created_at);
  create table processor_event (id text primary key, payload jsonb not null)`;

/** Removes settings of this shell. */
const noSettings = Object.fromEntries(settingNames.map((name) => [name, undefined]));

interface Program {
  entry: string;
  args: string[];
}

interface Programs {
  api: Program;
  worker: Program;
  env: Record<string, string>;
  sandbox: SandboxProcess;
}

function openSandbox(name: string, { folder, scenario }: PipelineOptions): Promise<SandboxProcess> {
  return startSandboxProcess(join(folder, name), scenario.settleMs);
}

async function startProcesses(
  name: Pipeline['name'],
  { stores, folder }: PipelineOptions,
  { api, worker, env, sandbox }: Programs,
): Promise<Omit<Pipeline, 'databaseUrl' | 'sandbox' | 'requests'>> {
  const port = await freePort();
  const url = `http://127.0.0.1:${port}`;
  const start = ({ entry, args }: Program, role: string) =>
    startProcess(entry, {
      args,
      env: { ...noSettings, ...env, REDIS_URL: stores.redis?.url, PORT: String(port) },
      outputFile: join(folder, `${name}-${role}.log`),
    });
  const startWorker = () => start(worker, 'worker');
  const startedAt = performance.now();
  const started = { api: start(api, 'api'), postgresPid: stores.postgres.pid };
  await started.api.waitForUrl(`${url}/healthz`, { intervalMs: 5 });
  const startUpMs = performance.now() - startedAt;
  const firstWorker = startWorker();
  const stop = async () => {
    await Promise.all([started.api.stop(5_000), firstWorker.stop(5_000)]);
    await sandbox.stop();
  };
  return { name, url, ...started, worker: firstWorker, startWorker, endpointId: null, startUpMs, stop };
}

/** The stores of both pipelines. */
export interface Stores {
  postgres: RunningPostgres;
  redis: RunningRedis | null;
  stop(): Promise<void>;
}

/**
 * Starts PostgreSQL, which counts statements, and Redis for queues on Redis.
 * @param hasStatistics whether PostgreSQL collects statistics of tables on its own, as it does by default.
 */
export async function startStores(queue: QueueKind, hasStatistics: boolean): Promise<Stores> {
  const settings = {
    autovacuum: hasStatistics ? 'on' : 'off',
    shared_preload_libraries: 'pg_stat_statements',
    'pg_stat_statements.max': '20000',
  };
  const postgres = await startPostgres({ durable: true, settings });
  try {
    const redis = queue === 'redis' ? await startRedis() : null;
    const stop = async () => {
      await redis?.stop();
      await postgres.stop();
    };
    return { postgres, redis, stop };
  } catch (error) {
    await postgres.stop();
    throw error;
  }
}

export interface SandboxProcess {
  url: string;
  control: SandboxControl;
  pid: number;
  /** Of its webhooks so far. An attempt that fails is repeated; an event is given up after the last one. */
  failures(): { attempts: number; events: number };
  stop(): Promise<void>;
}

/** Starts a sandbox with the payments of the bench. @param folder is created if missing. */
export async function startSandboxProcess(folder: string, autoSettleMs: number): Promise<SandboxProcess> {
  mkdirSync(folder, { recursive: true });
  const port = await freePort();
  const url = `http://127.0.0.1:${port}`;
  const args = ['--port', String(port), '--data-file', join(folder, 'sandbox.journal')];
  const child = startProcess('test/sandbox/main.ts', { args });
  await child.waitForUrl(`${url}/_sandbox/health`);
  const control = sandboxControl(url);
  await control.settings({ autoSettleMs });
  for (const id of knownPayments) await registerPayment(control, id);
  const failures = () => {
    const last = [...child.output().matchAll(/webhooks: (\d+) attempts failed, (\d+) events/g)].at(-1);
    return { attempts: Number(last?.[1] ?? 0), events: Number(last?.[2] ?? 0) };
  };
  const stop = async () => {
    await child.stop();
  };
  return { url, control, pid: child.pid, failures, stop };
}

export async function registerPayment(control: SandboxControl, id: string): Promise<void> {
  await control.transaction({ processor: 'stripe', id, amount: knownPaymentAmount, currency: 'usd' });
}
