import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { ServiceSettings } from '#shared/platform/config.ts';
import type { ParsedJson } from '../parsed-json.ts';
import type { StartedProcess } from '../processes/child-process.ts';
import { compiledIn } from '../processes/compiled-service.ts';
import { freePort } from '../processes/free-port.ts';
import { startService, type TestService } from '../service.ts';
import type { QueueBackend } from '../stores/backends.ts';
import { type Program, ServiceProcess } from './service-process.ts';

/**
 * The service as it is deployed: compiled, as processes that a test can break. The test's own process has the sandbox
 * and reads the database.
 */
export interface Deployment {
  /** Its database, sandbox and organization. It has no worker and listens on no port. */
  service: TestService;
  /** @param fault what goes wrong inside of the process: a file of test/support/faults/preload. */
  startWorker(settings?: Record<string, string>, fault?: string): Promise<ServiceProcess>;
  startApi(settings?: Record<string, string>, fault?: string): Promise<ApiProcess>;
  close(): Promise<void>;
}

export interface ApiProcess {
  url: string;
  /** Of a key of the test organization. */
  authorization: string;
  process: ServiceProcess;
  post(path: string, body: unknown, headers?: Record<string, string>): Promise<HttpAnswer>;
}

export interface HttpAnswer {
  status: number;
  body: ParsedJson;
  headers: Headers;
}

export interface DeployOptions {
  /** As the owner of its tables. */
  databaseUrl: string;
  /** The same database as the service uses it; by default, with its own role. */
  serviceUrl?: string;
  backend: QueueBackend;
  /** Where the service is compiled. */
  compiledFolder: string;
  /** What differs from the short pauses of tests. */
  settings?: Partial<ServiceSettings>;
  /** Takes the output of the processes, one file for each. */
  logFolder?: string;
}

/** @param options the database must outlive the deployment. */
export async function deploy({
  databaseUrl,
  serviceUrl,
  backend,
  compiledFolder,
  settings = { PROCESSOR_TIMEOUT_MS: 2_000 },
  logFolder,
}: DeployOptions): Promise<Deployment> {
  // Databases are copies of one template: in a shared folder, the position of another one would look like a restored backup.
  const DATA_DIR = mkdtempSync(join(tmpdir(), 'refund-data-'));
  const service = await startService({
    databaseUrl,
    ...(serviceUrl === undefined ? {} : { serviceUrl }),
    backend,
    workers: 0,
    settings: { DATA_DIR, ...settings },
  });
  await service.sandbox.settings({ autoSettleMs: 100 });
  const compiled = compiledIn(compiledFolder);
  const started: ServiceProcess[] = [];
  const start = (
    kind: 'api' | 'worker',
    isReady: Program['isReady'],
    env: Record<string, string>,
    fault: string | undefined,
  ) => {
    const name = `${kind}-${started.filter((each) => each.name.startsWith(kind)).length + 1}`;
    const process = new ServiceProcess({
      name,
      entry: compiled.entry(`${kind}/main.js`),
      env: { ...environmentOf(service), ...env },
      isReady,
      ...(fault === undefined ? {} : { preload: `test/support/faults/preload/${fault}.js` }),
      ...(logFolder === undefined ? {} : { outputFile: join(logFolder, `${name}.log`) }),
    });
    started.push(process);
    return process;
  };
  return {
    service,
    async startWorker(env = {}, fault) {
      const worker = start('worker', (process) => process.waitForOutput(/"working"/), env, fault);
      await worker.ready();
      return worker;
    },
    async startApi(env = {}, fault) {
      const port = String(await freePort());
      const url = `http://127.0.0.1:${port}`;
      const isReady = (process: StartedProcess) => process.waitForUrl(`${url}/healthz`);
      const process = start('api', isReady, { PORT: port, ...env }, fault);
      await process.ready();
      const authorization = `Bearer ${service.organization.keys.test.plaintext}`;
      return {
        process,
        url,
        authorization,
        post: (path, body, headers = {}) => post(`${url}${path}`, body, { authorization, ...headers }),
      };
    },
    async close() {
      await Promise.all(started.map((process) => process.kill()));
      await service.close();
      rmSync(DATA_DIR, { recursive: true, force: true });
    },
  };
}

/** The settings of a service as another process reads them. */
function environmentOf({ settings }: TestService): Record<string, string> {
  const values = Object.entries({ ...settings, LOG_LEVEL: 'info' });
  const set = values.filter(([, value]) => typeof value === 'string' || typeof value === 'number');
  return Object.fromEntries(set.map(([name, value]) => [name, String(value)]));
}

async function post(url: string, body: unknown, headers: Record<string, string>): Promise<HttpAnswer> {
  const response = await fetch(url, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...headers },
    body: JSON.stringify(body),
  });
  return { status: response.status, body: await response.json(), headers: response.headers };
}
