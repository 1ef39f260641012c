import { randomBytes } from 'node:crypto';
import helmet from '@fastify/helmet';
import Fastify, { type FastifyInstance, type InjectOptions, type LightMyRequestResponse } from 'fastify';
import { registerQueueBoard } from '#api/dashboard/queues/queue-board.ts';
import { refuseAddress } from '#api/dashboard/unknown-addresses.ts';
import { jsonBody } from '#api/http/body.ts';
import { answerErrors } from '#api/http/error-handler.ts';
import { refuseUnknownRoutes, withOtherMethodsRefused } from '#api/http/unknown-routes.ts';
import { openLog } from '#shared/platform/log.ts';
import {
  migrateQueueTables,
  openQueues,
  openWorkers,
  type RefundQueues,
  refundQueueName,
} from '#shared/platform/queues.ts';
import type { QueueBackend } from '../stores/backends.ts';
import { waitFor } from '../wait-for.ts';

/** Where the dashboard has the board. */
export const boardUrl = '/dashboard/queues';

/** The queue board with a worker that fails each job. */
export interface TestBoard {
  app: FastifyInstance;
  queues: RefundQueues;
  /** Whether requests are allowed from now on, or the error to throw. */
  setAccess(access: boolean | Error): void;
  close(): Promise<void>;
}

/** Starts the board, optionally without its worker. */
export async function startBoard(
  databaseUrl: string,
  backend: QueueBackend,
  { workers = true } = {},
): Promise<TestBoard> {
  if (backend.redisUrl === null) await migrateQueueTables(databaseUrl, []);
  const settings = {
    DATABASE_URL: databaseUrl,
    REDIS_URL: backend.redisUrl,
    REDIS_SENTINELS: null,
    ...{ ENCRYPTION_KEY: null, ENCRYPTION_PREVIOUS_KEYS: [] },
    QUEUE_PREFIX: `test-${randomBytes(6).toString('hex')}`,
  };
  const log = openLog('silent', 'test');
  const queues = openQueues(settings, ['stripe', 'braintree'], log);
  const state = { access: false as boolean | Error };
  const handle = async () => {
    throw new Error('It was told to fail.');
  };
  const open = workers ? [openWorkers(settings, new Map([[refundQueueName('stripe'), handle]]), log)] : [];
  const app = Fastify();
  answerErrors(app, log);
  jsonBody(app);
  refuseUnknownRoutes(app, refuseAddress);
  await withOtherMethodsRefused(app, refuseAddress, async () => {
    await app.register(helmet);
    await registerQueueBoard(app, { queues, log }, async () => {
      if (state.access instanceof Error) throw state.access;
      return state.access;
    });
  });
  return {
    app,
    queues,
    setAccess: (access) => {
      state.access = access;
    },
    async close() {
      await app.close();
      await Promise.all(open.map((worker) => worker.close()));
      await queues.close();
    },
  };
}

/** Sends a request as the board's pages do. */
export async function askBoard(
  board: TestBoard,
  method: NonNullable<InjectOptions['method']>,
  url: string,
  headers: Record<string, string> = { 'sec-fetch-site': 'same-origin' },
): Promise<LightMyRequestResponse> {
  return await board.app.inject({ method, url, headers });
}

/** The jobs of a queue that are in this state, as the board lists them. */
export async function jobsOf(board: TestBoard, name: string, status: string): Promise<{ id: string }[]> {
  const { queues } = (
    await askBoard(board, 'GET', `${boardUrl}/api/queues?activeQueue=${name}&status=${status}`)
  ).json();
  return queues.find((one: { name: string }) => one.name === name).jobs;
}

/** Creates a job that fails. */
export async function failedJob(board: TestBoard): Promise<{ id: string }> {
  const before = (await jobsOf(board, 'refunds-stripe', 'failed')).length;
  board.queues.wake('stripe');
  const jobs = await waitFor('the job to fail', async () => {
    const failed = await jobsOf(board, 'refunds-stripe', 'failed');
    return failed.length > before ? failed : null;
  });
  const [newest] = jobs;
  if (newest === undefined) throw new Error('No job failed.');
  return newest;
}
