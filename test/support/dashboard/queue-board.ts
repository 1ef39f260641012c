import { randomBytes } from 'node:crypto';
import helmet from '@fastify/helmet';
import Fastify, { type FastifyInstance } from 'fastify';
import type { BoardAccess } from '../../../api/dashboard/queues/board-access.ts';
import { registerQueueBoard } from '../../../api/dashboard/queues/queue-board.ts';
import { refuseAddress } from '../../../api/dashboard/unknown-addresses.ts';
import { answerErrors } from '../../../api/http/error-handler.ts';
import { acceptJsonOnly } from '../../../api/http/json-body.ts';
import { answerUnknownRoutes } from '../../../api/http/unknown-routes.ts';
import { openLog } from '../../../shared/platform/log.ts';
import {
  maintenanceQueueName,
  migrateQueueTables,
  openWorker,
  type QueueWorker,
  RefundQueues,
  refundQueueName,
} from '../../../shared/platform/queues.ts';
import type { QueueBackend } from '../stores/backends.ts';

/** The queue board with controllable workers. */
export interface TestBoard {
  app: FastifyInstance;
  queues: RefundQueues;
  /** Sets the access of all requests, or the error to throw. */
  setAccess(access: BoardAccess | Error): void;
  /** Makes jobs fail from now on. */
  setFailing(failing: boolean): void;
  /** The refund ids and maintenance jobs that were processed. */
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
  const state = { access: 'none' as BoardAccess | Error, failing: false };
  const handle = async (data: { refundId?: string }, name: string) => {
    if (state.failing) throw new Error('Failing on purpose');
    done.push(data.refundId ?? name);
  };
  const open: QueueWorker[] = [];
  if (workers) {
    for (const name of [refundQueueName('stripe'), maintenanceQueueName]) {
      open.push(openWorker(settings, name, 1, handle, log));
    }
  }
  const app = Fastify();
  answerErrors(app, log);
  acceptJsonOnly(app);
  const answerOtherMethods = answerUnknownRoutes(app, refuseAddress);
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
  answerOtherMethods();
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
