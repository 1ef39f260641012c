import { randomBytes } from 'node:crypto';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { InjectOptions, LightMyRequestResponse } from 'fastify';
import { buildApp } from '#api/app.ts';
import type { Api } from '#api/http/route.ts';
import { closeDependencies, type Dependencies, openDependencies } from '#shared/dependencies.ts';
import { apiKeyScopes, createApiKey, type NewApiKey } from '#shared/organizations/api-keys.ts';
import { createOrganization } from '#shared/organizations/create-organization.ts';
import { loadServiceSettings, type ServiceSettings } from '#shared/platform/config.ts';
import { type Database, openDatabase } from '#shared/platform/database.ts';
import type { Environment } from '#shared/platform/environment.ts';
import { type Logger, openLog } from '#shared/platform/log.ts';
import type { QueueWorker } from '#shared/platform/queues.ts';
import { setProcessorAccount } from '#shared/processors/accounts/manage-accounts.ts';
import { startWorkers } from '#worker/start-workers.ts';
import { type SandboxControl, sandboxControl } from '../sandbox/clients.ts';
import { type ProcessorName, sandboxProcessors } from '../sandbox/processors.ts';
import { startSandbox } from '../sandbox/server.ts';
import { expectDeclared, operationAt, readDocument, type ServedDocument } from './http/openapi-document.ts';
import type { ParsedJson } from './parsed-json.ts';
import type { QueueBackend } from './stores/backends.ts';
import { openTestDatabase, patient } from './stores/open-database.ts';
import { asService } from './stores/service-role.ts';

/** One organization with a key of every scope per environment and every processor set up. */
export interface TestOrganization {
  id: string;
  keys: Record<Environment, { id: string; plaintext: string }>;
  /** The ids of its accounts. */
  accounts: Record<Environment, Record<ProcessorName, string>>;
}

/** An answer with its parsed JSON; null when it is empty. */
export interface ApiAnswer {
  status: number;
  body: ParsedJson;
  headers: LightMyRequestResponse['headers'];
}

/** The whole service in this process: API, workers, and a sandbox behind HTTP. */
export interface TestService {
  settings: ServiceSettings;
  deps: Dependencies;
  /** The database as the owner of its tables, for what a test does that the service may not. */
  databaseUrl: string;
  ownerDb: Database;
  app: Api;
  sandbox: SandboxControl;
  sandboxUrl: string;
  organization: TestOrganization;
  /**
   * Sends a request with the organization's test key, unless the headers say otherwise.
   * @throws AssertionError for an answer of an operation that is not as the OpenAPI document has it.
   */
  call(method: Method, url: string, options?: CallOptions): Promise<ApiAnswer>;
  /** Creates an API key, of the organization's test environment unless given otherwise. */
  newKey(more?: Partial<NewApiKey>): ReturnType<typeof createApiKey>;
  /** Its address; it listens from the first call on. */
  url(): Promise<string>;
  addOrganization(name: string): Promise<TestOrganization>;
  startWorker(): QueueWorker;
  close(): Promise<void>;
}

type Method = 'GET' | 'POST' | 'PATCH' | 'DELETE';

export interface CallOptions {
  body?: unknown;
  key?: string;
  headers?: Record<string, string>;
}

export interface ServiceOptions {
  /** Of a migrated database, with the tables of the queues unless they are on Redis, as the owner of its tables. */
  databaseUrl: string;
  /** The same database as the service uses it; by default, with its own role. */
  serviceUrl?: string;
  backend: QueueBackend;
  /** 1 by default. */
  workers?: number;
  settings?: Partial<ServiceSettings>;
  overrides?: Partial<Dependencies>;
  /** Silent by default. */
  log?: Logger;
}

/** Short pauses for tests. */
const quick = {
  ...patient,
  RETRY_BASE_MS: 40,
  RETRY_CAP_MS: 400,
  SETTLEMENT_BASE_MS: 50,
  SETTLEMENT_CAP_MS: 400,
  SWEEP_INTERVAL_MS: 100,
  LOOKUP_SETTLE_DELAY_MS: 200,
  // Longer than any machine takes for a call, so that none runs out of time by chance.
  PROCESSOR_TIMEOUT_MS: 60_000,
  TRANSACTION_READ_TIMEOUT_MS: 60_000,
  MAX_WAIT_MS: 600_000,
  MISCONFIGURED_RETRY_MS: 400,
  RATE_LIMIT_PER_SECOND: 0,
  PROCESSOR_ACCOUNT_CALLS_PER_SECOND: 100_000,
  FAILED_KEYS_PER_MINUTE: 0,
  // The tests share the event loop.
  MAX_EVENT_LOOP_DELAY_MS: 0,
  // A scheduled reconciliation would use up the faults of a test.
  RECONCILIATION_INTERVAL_MS: 0,
};

/** For tests of what a creation or a cancellation answers: it waits for the processor as long as it takes, also on a slow machine. */
export const untilVerdict = { CREATE_WAIT_MS: 600_000, CANCEL_WAIT_MS: 600_000 };

/** The same for one request. */
export const untilChange = { prefer: 'wait=600' };

export async function startService(options: ServiceOptions): Promise<TestService> {
  const { databaseUrl, serviceUrl = asService(databaseUrl), backend } = options;
  const prefix = `test-${randomBytes(6).toString('hex')}`;
  const settings: ServiceSettings = {
    ...loadServiceSettings({
      DATABASE_URL: serviceUrl,
      ENCRYPTION_KEY: randomBytes(32).toString('base64'),
      ...(backend.redisUrl === null ? {} : { REDIS_URL: backend.redisUrl }),
      QUEUE_PREFIX: prefix,
      // Databases of tests are copies of one, and must not be taken for one another.
      DATA_DIR: join(tmpdir(), prefix),
      LOG_LEVEL: 'silent',
    }),
    ...quick,
    ...options.settings,
  };
  const clock = options.overrides?.clock;
  const now = clock && (() => clock.now().getTime());
  const sandboxServer = await startSandbox({ port: 0, now });
  const log = options.log ?? openLog(settings.LOG_LEVEL, 'test');
  const deps = openDependencies(settings, log, options.overrides);
  const dashboardDb =
    options.overrides?.db ?? openDatabase(serviceUrl, { poolSize: settings.DASHBOARD_POOL_SIZE, settings });
  const ownerDb = openTestDatabase(databaseUrl);
  const app = await buildApp({ ...deps, dashboardDb });
  const workers: QueueWorker[] = [];
  const startWorker = () => {
    const worker = startWorkers(deps);
    workers.push(worker);
    return worker;
  };
  for (let index = 0; index < (options.workers ?? 1); index += 1) startWorker();
  const addOrganization = (name: string) => seedOrganization(deps, sandboxServer.url, name);
  const organization = await addOrganization('Test organization');
  let listening: Promise<string> | undefined;
  return {
    settings,
    deps,
    databaseUrl,
    ownerDb,
    app,
    sandbox: sandboxControl(sandboxServer.url),
    sandboxUrl: sandboxServer.url,
    organization,
    call: (method, url, callOptions = {}) =>
      callApi(app, method, url, { key: organization.keys.test.plaintext, ...callOptions }),
    url: () => (listening ??= app.listen({ host: '127.0.0.1', port: 0 })),
    addOrganization,
    newKey: (more = {}) =>
      createApiKey(deps, { organizationId: organization.id, environment: 'test', actor: 'test', ...more }),
    startWorker,
    async close() {
      await app.close();
      await Promise.all(workers.map((worker) => worker.close()));
      await dashboardDb.$disconnect();
      await ownerDb.$disconnect();
      await closeDependencies(deps);
      await sandboxServer.close();
    },
  };
}

/** Adds an organization whose accounts are at a sandbox. */
async function seedOrganization(
  deps: Dependencies,
  apiBase: string,
  name: string,
): Promise<TestOrganization> {
  const actor = 'test';
  const { id: organizationId } = await createOrganization(deps, { name, actor });
  const accounts = { live: {}, test: {} } as TestOrganization['accounts'];
  for (const environment of ['live', 'test'] as const) {
    for (const { name: processor, credentials: credentialsOf } of Object.values(sandboxProcessors)) {
      const credentials = { ...credentialsOf(environment), apiBase };
      const place = { organizationId, environment, processor };
      const { id } = await setProcessorAccount(deps, { ...place, credentials, actor });
      accounts[environment][processor as ProcessorName] = id;
    }
  }
  const key = { organizationId, actor, scopes: apiKeyScopes };
  const live = await createApiKey(deps, { ...key, environment: 'live' });
  const test = await createApiKey(deps, { ...key, environment: 'test' });
  return { id: organizationId, keys: { live, test }, accounts };
}

async function callApi(
  app: Api,
  method: Method,
  url: string,
  { body: sent, key, headers = {} }: CallOptions,
): Promise<ApiAnswer> {
  const request: InjectOptions = {
    method,
    url,
    headers: { ...(key === undefined ? {} : { authorization: `Bearer ${key}` }), ...headers },
    ...(sent === undefined ? {} : { payload: sent as InjectOptions['payload'] & object }),
  };
  const response = await app.inject(request);
  const body = response.body === '' ? null : response.json();
  const answer = { status: response.statusCode, body, headers: response.headers };
  if (url.startsWith('/v1/')) {
    served ??= readDocument({ app });
    const document = await served;
    if (operationAt(document, { method, path: url })) expectDeclared(document, { method, path: url }, answer);
  }
  return answer;
}

/** That of the first service of this process; others serve the same. */
let served: Promise<ServedDocument> | undefined;
