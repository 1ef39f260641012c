import type { ServiceSettings } from '../../../shared/platform/config.ts';
import { startService, type TestService } from '../service.ts';
import type { QueueBackend } from '../stores/backends.ts';
import { type WaitOptions, waitFor } from '../wait-for.ts';
import { type StartedProcess, startProcess } from './child-process.ts';
import { compiledIn, type Trouble } from './compiled-service.ts';
import { freePort } from './free-port.ts';

// The service as it is deployed: processes that may be killed. The test's own process has the sandbox and looks at
// the database, and nothing else.

export interface Processes {
  /** For its database, sandbox and organization; it works on nothing and listens to nothing. */
  service: TestService;
  /** @param trouble what is wrong inside of the process. */
  startWorker(settings?: Record<string, string>, trouble?: Trouble): Promise<StartedProcess>;
  startApi(settings?: Record<string, string>, trouble?: Trouble): Promise<RunningApi>;
  close(): Promise<void>;
}

export interface RunningApi {
  url: string;
  /** Of a key of the test organization. */
  authorization: string;
  process: StartedProcess;
  post(path: string, body: unknown, headers?: Record<string, string>): Promise<HttpAnswer>;
}

export interface HttpAnswer {
  status: number;
  // biome-ignore lint/suspicious/noExplicitAny: tests read what is there and assert on it.
  body: any;
}

/**
 * @param compiledFolder where the service is compiled.
 * @param settings what differs from the short pauses of tests.
 */
export async function openProcesses(
  databaseUrl: string,
  backend: QueueBackend,
  compiledFolder: string,
  settings: Partial<ServiceSettings> = { PROCESSOR_TIMEOUT_MS: 2_000 },
): Promise<Processes> {
  const service = await startService({ databaseUrl, backend, workers: 0, settings });
  await service.sandbox.settings({ autoSettleMs: 100 });
  const started: StartedProcess[] = [];
  const compiled = compiledIn(compiledFolder);
  const start = (entry: string, settings: Record<string, string>, trouble?: Trouble) => {
    const env = { ...environmentOf(service), ...settings };
    const preload = trouble === undefined ? {} : { preload: compiled.preload(trouble) };
    const process = startProcess(compiled.entry(entry), { env, ...preload });
    started.push(process);
    return process;
  };
  return {
    service,
    async startWorker(settings = {}, trouble) {
      const worker = start('worker/main.js', settings, trouble);
      await worker.waitForOutput(/"working"/);
      return worker;
    },
    async startApi(settings = {}, trouble) {
      const port = String(await freePort());
      const process = start('api/main.js', { PORT: port, ...settings }, trouble);
      const url = `http://127.0.0.1:${port}`;
      await process.waitForUrl(`${url}/healthz`);
      const authorization = `Bearer ${service.organization.keys.test.plaintext}`;
      return {
        process,
        url,
        authorization,
        post: (path, body, headers = {}) => post(`${url}${path}`, body, { authorization, ...headers }),
      };
    },
    async close() {
      await Promise.all(started.map((process) => process.kill9()));
      await service.close();
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
  return { status: response.status, body: await response.json() };
}

/** A refund of a tenth of a new payment. */
export async function refundOfNewPayment(service: TestService, processor: string) {
  const transactionId = await service.sandbox.transaction({ processor, amount: 10_000, currency: 'usd' });
  return { transactionId, amount: 1_000, reason: 'other', processor };
}

/** Has a refund accepted without waiting, through the API of the test's own process; answers its id. */
export async function accept(service: TestService, processor: string): Promise<string> {
  const body = await refundOfNewPayment(service, processor);
  const { status, body: answer } = await service.call('POST', '/v1/refunds', {
    body,
    headers: { prefer: 'respond-async' },
  });
  if (status !== 200) throw new Error(`The refund was not accepted: ${JSON.stringify(answer)}`);
  return answer.data.id;
}

/** Waits until the refunds have met the faults that were armed for them, and nobody knows yet what became of them. */
export async function untilAtProcessor(service: TestService, ids: readonly string[]): Promise<void> {
  await waitFor('the refunds to be at their processors', async () => {
    const sent = { id: { in: [...ids] }, attempts: { some: { endedAt: null } }, externalRefundId: null };
    // The attempt is on record before the call is made, which meets the fault.
    const areMet = (await service.sandbox.faults()).length === 0;
    return areMet && (await service.deps.db.refund.count({ where: sent })) === ids.length;
  });
}

/** Waits until the refunds have completed; answers after how many milliseconds the last of them had. */
export async function untilCompleted(
  service: TestService,
  ids: readonly string[],
  options: WaitOptions = {},
): Promise<number> {
  const since = performance.now();
  await waitFor(
    `${ids.length} refunds to complete`,
    async () => {
      const completed = { id: { in: [...ids] }, status: 'completed' as const };
      return (await service.deps.db.refund.count({ where: completed })) === ids.length;
    },
    { intervalMs: 50, ...options },
  );
  return Math.round(performance.now() - since);
}
