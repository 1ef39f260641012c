import { randomBytes } from 'node:crypto';
import helmet from '@fastify/helmet';
import Fastify, { type FastifyInstance } from 'fastify';
import { registerQueueBoard } from '../../../api/dashboard/queues/queue-board.ts';
import { refuseAddress } from '../../../api/dashboard/unknown-addresses.ts';
import { jsonBody } from '../../../api/http/body.ts';
import { answerErrors } from '../../../api/http/error-handler.ts';
import { refuseUnknownRoutes, withOtherMethodsRefused } from '../../../api/http/unknown-routes.ts';
import { openLog } from '../../../shared/platform/log.ts';
import {
  migrateQueueTables,
  openWorker,
  type RefundJob,
  RefundQueues,
  refundQueueName,
} from '../../../shared/platform/queues.ts';
import type { QueueBackend } from '../stores/backends.ts';

/** The queue board with controllable workers. */
export interface TestBoard {
  app: FastifyInstance;
  queues: RefundQueues;
  /** Whether requests are allowed from now on, or the error to throw. */
  setAccess(access: boolean | Error): void;
  /** Makes jobs fail from now on. */
  setFailing(failing: boolean): void;
  /** The refunds whose jobs were done. */
  done: readonly string[];
  close(): Promise<void>;
}

/** Starts the board, optionally without workers. */
export async function startBoard(
  databaseUrl: string,
  backend: QueueBackend,
  { workers = true } = {},
): Promise<TestBoard> {
  if (backend.redisUrl === null) await migrateQueueTables(databaseUrl);
  const settings = {
    DATABASE_URL: databaseUrl,
    REDIS_URL: backend.redisUrl,
    QUEUE_PREFIX: `test-${randomBytes(6).toString('hex')}`,
  };
  const log = openLog('silent', 'test');
  const queues = new RefundQueues(settings, ['stripe', 'braintree'], log);
  const done: string[] = [];
  const state = { access: false as boolean | Error, failing: false };
  const handle = async ({ refundId }: RefundJob) => {
    if (state.failing) throw new Error('It was told to fail.');
    done.push(refundId);
  };
  const open = workers ? [openWorker(settings, refundQueueName('stripe'), 1, handle, log)] : [];
  const app = Fastify();
  answerErrors(app, log);
  await app.register(jsonBody);
  refuseUnknownRoutes(app, refuseAddress);
  await withOtherMethodsRefused(app, refuseAddress, async () => {
    await app.register(helmet);
    await registerQueueBoard(
      app,
      { queues, log },
      {
        allow: async () => {
          if (state.access instanceof Error) throw state.access;
          return state.access;
        },
        audit: async () => undefined,
      },
    );
  });
  return {
    app,
    queues,
    done,
    setAccess: (access) => {
      state.access = access;
    },
    setFailing: (failing) => {
      state.failing = failing;
    },
    async close() {
      await app.close();
      await Promise.all(open.map((worker) => worker.close()));
      await queues.close();
    },
  };
}
