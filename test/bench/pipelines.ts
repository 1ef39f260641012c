import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import { migrate } from '#prisma/migrate.ts';
import { settingNames } from '#shared/platform/config.ts';
import { migrateQueueTables } from '#shared/platform/queues.ts';
import { processorNames } from '#shared/processors/registry.ts';
import { connectWebhooks } from '../dev/connect-webhooks.ts';
import { seed } from '../dev/seed.ts';
import { type SandboxControl, sandboxControl } from '../sandbox/clients.ts';
import { type StartedProcess, startProcess } from '../support/processes/child-process.ts';
import type { CompiledService } from '../support/processes/compiled-service.ts';
import { freePort } from '../support/processes/free-port.ts';
import { addIdleAccounts } from '../support/processors/idle-accounts.ts';
import { fillRefunds } from '../support/refunds/fill-refunds.ts';
import { createDatabase, query, withClient } from '../support/stores/database-client.ts';
import { type RunningPostgres, startPostgres } from '../support/stores/embedded-postgres.ts';
import { type RunningRedis, startRedis } from '../support/stores/redis.ts';
import type { Scenario } from './options.ts';
import { call, knownPaymentAmount, knownPayments, Requests } from './requests.ts';
import type { Conditions } from './results.ts';

/** An API, a worker, a database and a sandbox. */
export interface Pipeline {
  name: string;
  url: string;
  databaseUrl: string;
  sandbox: SandboxProcess;
  requests: Requests;
  api: StartedProcess;
  worker: StartedProcess;
  postgresPid: number;
  /** The webhook endpoint that accepts every event. */
  endpointId: string | null;
}

export interface ServicePipeline extends Pipeline {
  organizationId: string;
  encryptionKey: string;
}

/** What pipelines are started with. */
export interface Place {
  scenario: Scenario;
  postgres: RunningPostgres;
  /** Null for queues in PostgreSQL. */
  redis: RunningRedis | null;
  compiled: CompiledService;
  /** Takes the output of the processes. */
  folder: string;
  /** Takes what stops the processes, the latest last. */
  teardown: (() => unknown)[];
}

/** Starts the service as in production: compiled, with default settings, without a rate limit. */
export async function startService(place: Place): Promise<ServicePipeline> {
  const { compiled, teardown } = place;
  const { preload, idleAccounts, webhooks } = place.scenario;
  const encryptionKey = randomBytes(32).toString('base64');
  const base = await openBase('service', place, migrate);
  const { databaseUrl, sandbox } = base;
  const { organizationId, keys } = await seed({
    ...{ databaseUrl, encryptionKey, sandboxUrl: sandbox.url, remembered: null },
  });
  if (preload > 0) await preloadService(databaseUrl, preload);
  if (idleAccounts > 0) await addIdleAccounts(databaseUrl, organizationId, idleAccounts);
  const env = {
    // In production, webhooks are not sent to the receiver's address. Nothing else that is measured depends on it.
    NODE_ENV: 'development',
    ENCRYPTION_KEY: encryptionKey,
    RATE_LIMIT_PER_SECOND: '0',
    QUEUE_PREFIX: 'service',
    // The sandbox does not know what was loaded.
    ...(preload > 0 ? { RECONCILIATION_INTERVAL_MS: '0' } : {}),
    // Counted, and never reached.
    PROCESSOR_ACCOUNT_CALLS_PER_SECOND: '100000',
  };
  const program = (role: Role) => [compiled.entry(`${role}/main.js`)];
  const processes = await startProcesses(base, place, program, env, keys.test);
  const service = { ...processes, organizationId, encryptionKey };
  if (!webhooks) return service;
  await connectWebhooks({ databaseUrl, organizationId, sandboxUrl: sandbox.url, apiUrl: service.url });
  const receiver = await startReceiver();
  teardown.push(() => receiver.stop(5_000));
  const body = { url: receiver.url };
  const created = await call(service, '/v1/webhook-endpoints', { method: 'POST', body });
  return { ...service, endpointId: (created as { id: string }).id };
}

/** Fills the tables with refunds of another organization, faster than the service could: without triggers and foreign keys. */
async function preloadService(databaseUrl: string, count: number): Promise<void> {
  await withClient(databaseUrl, async (client) => {
    await client.query('set session_replication_role = replica; set synchronous_commit = off; set jit = off');
    await fillRefunds(client, {
      ...{ organizationId: 'org_many', environment: 'live', count },
      ...{ now: new Date(), days: 730 },
    });
  });
  await query(databaseUrl, 'vacuum analyze');
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
export async function startNaked(place: Place): Promise<Pipeline> {
  const base = await openBase('naked', place, (databaseUrl) => query(databaseUrl, nakedTables));
  const { databaseUrl, sandbox } = base;
  if (place.scenario.preload > 0) await preloadNaked(databaseUrl, place.scenario.preload);
  const env = { NODE_ENV: 'production', SANDBOX_URL: sandbox.url };
  const program = (role: Role) => ['test/bench/naked.ts', role];
  const pipeline = await startProcesses(base, place, program, env, 'none');
  if (place.scenario.webhooks) {
    const url = `${pipeline.url}/webhooks/stripe`;
    const webhooks = [{ processor: 'stripe', environment: 'test', url, secret: 'whsec_naked' }];
    await sandbox.control.settings({ webhooks });
  }
  return pipeline;
}

async function preloadNaked(databaseUrl: string, count: number): Promise<void> {
  const createdAt = `now() - (${count} - n) * interval '730 days' / ${count}`;
  await query(
    databaseUrl,
    `insert into refund (id, organization_id, external_refund_id, transaction_id, amount, currency, reason, status, processor,
       initiated_by, created_at, updated_at)
     select 'ref_00' || lpad(n::text, 24, '0'), 'org_naked', 're_' || md5('refund' || n), 'ch_' || md5('payment' || n / 2), 1,
       'usd', 'product_defective', 'completed', 'stripe', 'api', ${createdAt}, ${createdAt}
     from generate_series(1, ${count}) as n`,
  );
  await query(databaseUrl, 'vacuum analyze');
}

const nakedTables = `
  create table refund (id text primary key, organization_id text not null, external_refund_id text,
    transaction_id text not null, amount int not null, currency text not null, reason text not null, status text not null,
    processor text not null, metadata jsonb, initiated_by text not null, created_at timestamptz not null,
    updated_at timestamptz not null);
  create index on refund (created_at);
  create table processor_event (id text primary key, payload jsonb not null)`;

type Base = Pick<Pipeline, 'name' | 'databaseUrl' | 'sandbox'>;

async function openBase(
  name: Pipeline['name'],
  place: Place,
  createTables: (databaseUrl: string) => Promise<unknown>,
): Promise<Base> {
  const databaseUrl = await createDatabase(place.postgres.url, name);
  await createTables(databaseUrl);
  if (place.redis === null) await migrateQueueTables(databaseUrl, processorNames);
  return { name, databaseUrl, sandbox: await startSandbox(name, place) };
}

/** Removes settings of this shell. */
const noSettings = Object.fromEntries(settingNames.map((name) => [name, undefined]));

type Role = 'api' | 'worker';

/** @param program the file and the arguments of a process. */
async function startProcesses(
  base: Base,
  { postgres, redis, folder, teardown }: Place,
  program: (role: Role) => string[],
  env: Record<string, string>,
  key: string,
): Promise<Pipeline> {
  const port = await freePort();
  const url = `http://127.0.0.1:${port}`;
  const stores = {
    DATABASE_URL: base.databaseUrl,
    REDIS_URL: redis?.url,
    DATA_DIR: join(folder, base.name),
  };
  const start = (role: Role) => {
    const [entry = '', ...args] = program(role);
    const started = startProcess(entry, {
      args,
      env: { ...noSettings, ...env, ...stores, PORT: String(port) },
      outputFile: join(folder, `${base.name}-${role}.log`),
    });
    teardown.push(() => started.stop(5_000));
    return started;
  };
  const api = start('api');
  await api.waitForUrl(`${url}/healthz`);
  const worker = start('worker');
  const requests = new Requests(base.name, key);
  return { ...base, url, requests, api, worker, postgresPid: postgres.pid, endpointId: null };
}

/** Starts PostgreSQL, which counts statements, and Redis for queues on Redis. */
export async function startStores({ scenario, queue }: Conditions, teardown: Place['teardown']) {
  const settings = {
    autovacuum: scenario.hasStatistics ? 'on' : 'off',
    shared_preload_libraries: 'pg_stat_statements',
    'pg_stat_statements.max': '20000',
  };
  const postgres = await startPostgres({ durable: true, settings });
  teardown.push(() => postgres.stop());
  if (queue === 'postgres') return { postgres, redis: null };
  const redis = await startRedis();
  teardown.push(() => redis.stop());
  return { postgres, redis };
}

export interface SandboxProcess {
  url: string;
  control: SandboxControl;
  pid: number;
  /** Of its webhooks so far. An attempt that fails is repeated; an event is given up after the last one. */
  failures(): { attempts: number; events: number };
}

/** Starts a sandbox that settles at once, with the payments of the bench. */
async function startSandbox(name: string, { folder, teardown }: Place): Promise<SandboxProcess> {
  const port = await freePort();
  const url = `http://127.0.0.1:${port}`;
  const args = ['--port', String(port), '--data-file', join(folder, `${name}-sandbox.journal`)];
  const child = startProcess('test/sandbox/main.ts', { args });
  teardown.push(() => child.stop());
  await child.waitForUrl(`${url}/_sandbox/health`);
  const control = sandboxControl(url);
  await control.settings({ autoSettleMs: 0 });
  for (const id of knownPayments) await registerPayment(control, id);
  const failures = () => {
    const last = [...child.output().matchAll(/webhooks: (\d+) attempts failed, (\d+) events/g)].at(-1);
    return { attempts: Number(last?.[1] ?? 0), events: Number(last?.[2] ?? 0) };
  };
  return { url, control, pid: child.pid, failures };
}

export async function registerPayment(control: SandboxControl, id: string): Promise<void> {
  await control.transaction({ processor: 'stripe', id, amount: knownPaymentAmount, currency: 'usd' });
}
