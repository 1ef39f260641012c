import { createRequire } from 'node:module';
import type { createPostgresBackend, Job, JobsOptions, Queue, QueueOptions, WorkerOptions } from 'bullmq';
import type { Cluster, Redis, RedisOptions } from 'ioredis';
import type { Settings } from './config.ts';
import { isDatabaseUnavailable, StrictClient } from './database.ts';
import { type Logger, warnSparingly } from './log.ts';
import { type SharedStatement, shareStatement } from './shared-statement.ts';

const require = createRequire(import.meta.url);

/** BullMQ takes long to load, so a process that starts loads it with the first queue that it uses. */
const bullmq = (): typeof import('bullmq') => require('bullmq');

/** Loaded where there is a Redis. */
const ioredis = (): typeof import('ioredis') => require('ioredis');

/**
 * The queues carry wake-up calls and nothing else: a job says "look at this refund". Postgres is the truth, so a
 * job may be lost, late or doubled, and the sweep makes new ones from the database.
 */
export interface RefundJob {
  refundId: string;
}

type QueueSettings = Pick<Settings, 'DATABASE_URL' | 'REDIS_URL' | 'QUEUE_PREFIX'>;

/** One queue per processor, so that an outage of the one does not hold up the other. */
export function refundQueueName(processor: string): string {
  return `refunds-${processor}`;
}

/** The queue of what is done on a schedule rather than for one refund. */
export const maintenanceQueueName = 'maintenance';

/** Jobs of the maintenance queue. */
export type MaintenanceJob =
  | 'expire-events'
  | 'expire-reconciliations'
  | 'expire-sessions'
  | 'expire-invitations';

/** What is kept of finished jobs: nothing of the good ones, the last failures for people to look at. */
const jobOptions: JobsOptions = { attempts: 1, removeOnComplete: true, removeOnFail: { count: 500 } };

/** Wake-up calls that may be under way at once; further ones are left to the sweep, so that memory is bounded. */
const maxPendingWakes = 2_000;

/** Calls with wake-ups that may be under way at the same time. */
const wakeLanes = 2;

/** The producing side: used by the API and by the sweep. */
export class RefundQueues {
  readonly #settings: QueueSettings;
  readonly #processors: readonly string[];
  readonly #log: Logger;
  readonly #warn: (error: unknown) => void;
  readonly #wakes = new Map<string, SharedStatement<string, void>>();
  #opened: OpenQueues | null = null;
  #pendingWakes = 0;

  /** The queues are opened when the first of them is used. */
  constructor(settings: QueueSettings, processors: readonly string[], log: Logger) {
    this.#settings = settings;
    this.#processors = processors;
    this.#log = log;
    this.#warn = warnSparingly(log, 'the queue is not reachable; the sweep will pick refunds up');
  }

  /**
   * Asks for a worker's attention to a refund, soon. It neither waits nor fails: while the queue is gone the sweep
   * takes over, and no client has to know.
   */
  wake({ id, processor }: { id: string; processor: string }): void {
    if (this.#pendingWakes >= maxPendingWakes) return;
    this.#pendingWakes += 1;
    this.#wakeOne(processor, id)
      .catch(this.#warn)
      .finally(() => {
        this.#pendingWakes -= 1;
      });
  }

  /** Wake-ups of requests that arrive together go out together. */
  async #wakeOne(processor: string, refundId: string): Promise<void> {
    let wake = this.#wakes.get(processor);
    if (wake === undefined) {
      wake = shareStatement(async (refundIds) => {
        await this.wakeAll(processor, refundIds);
        return refundIds.map(() => undefined);
      }, wakeLanes);
      this.#wakes.set(processor, wake);
    }
    await wake(refundId);
  }

  /**
   * The same for many refunds of one processor.
   * @throws when the queue does not take the jobs.
   */
  async wakeAll(processor: string, refundIds: readonly string[]): Promise<void> {
    const queue = this.#open().refunds.get(processor);
    if (queue === undefined) throw new RangeError(`No queue for processor ${processor}`);
    await queue.addBulk(
      refundIds.map((refundId) => ({
        name: 'advance-refund',
        data: { refundId } satisfies RefundJob,
        // One job per refund waits at a time, and one that arrives while another runs is run after it. A custom job id would
        // swallow new jobs while old ones are kept.
        opts: { ...jobOptions, deduplication: { id: refundId, keepLastIfActive: true } },
      })),
    );
  }

  /** Makes sure that a job runs every `intervalMs`, however often this is called and whatever the queue forgot. */
  async schedule(name: MaintenanceJob, intervalMs: number): Promise<void> {
    const opts = { ...jobOptions, removeOnFail: { count: 5 } };
    await this.#open().maintenance.upsertJobScheduler(name, { every: intervalMs }, { name, opts });
  }

  /** Ends a schedule, whoever put it in place. */
  async unschedule(name: string): Promise<void> {
    await this.#open().maintenance.removeJobScheduler(name);
  }

  /** Answers when the queue's store does; for readiness. */
  async ping(): Promise<void> {
    await this.#open().maintenance.getJobCountByTypes('waiting');
  }

  /**
   * Hands BullMQ's own object of every queue to `use`, for a board that shows what is in them. They hold the jobs of
   * all organizations together.
   */
  map<Result>(use: (queue: Queue) => Result): Result[] {
    const { refunds, maintenance } = this.#open();
    return [...refunds.values(), maintenance].map(use);
  }

  async close(): Promise<void> {
    if (this.#opened === null) return;
    const { refunds, maintenance, connection } = this.#opened;
    await Promise.allSettled([...refunds.values(), maintenance].map((queue) => queue.close()));
    connection.close();
  }

  #open(): OpenQueues {
    if (this.#opened !== null) return this.#opened;
    const connection = openConnection(this.#settings, 'producer', this.#log);
    const open = (name: string) => this.#openQueue(name, connection);
    this.#opened = {
      refunds: new Map(this.#processors.map((name) => [name, open(refundQueueName(name))])),
      maintenance: open(maintenanceQueueName),
      connection,
    };
    return this.#opened;
  }

  #openQueue(name: string, connection: QueueConnection): Queue {
    const { Queue } = bullmq();
    const options: QueueOptions = {
      ...connection.options,
      ...prefixOf(this.#settings, name),
      skipMetasUpdate: true,
    };
    const queue = new Queue(name, options as never, connection.backendFactory as never);
    queue.on('error', this.#warn);
    return queue;
  }
}

interface OpenQueues {
  /** By processor. */
  refunds: ReadonlyMap<string, Queue>;
  maintenance: Queue;
  connection: QueueConnection;
}

/** The consuming side: one queue, `handle` called once per job. `close` waits for running jobs. */
export interface QueueWorker {
  close(): Promise<void>;
}

/**
 * Starts working on a queue. A worker that dies gives its jobs back after at most lock duration plus stalled
 * interval, and a job that died with many workers is still retaken.
 */
export function openWorker<Data>(
  settings: QueueSettings,
  name: string,
  concurrency: number,
  handle: (data: Data, name: string) => Promise<void>,
  log: Logger,
): QueueWorker {
  const connection = openConnection(settings, 'worker', log);
  const options: WorkerOptions = {
    ...connection.options,
    ...prefixOf(settings, name),
    concurrency,
    lockDuration: 15_000,
    stalledInterval: 5_000,
    maxStalledCount: 1_000,
    // Otherwise a worker that met a PostgreSQL that was gone sleeps for 15 seconds, however soon that is back.
    runRetryDelay: 1_000,
    metrics: { maxDataPoints: 60 },
  };
  const process = async (job: Job<Data>) => {
    try {
      await handle(job.data, job.name);
    } catch (error) {
      // The queue keeps the words and the stack of what is thrown; what PostgreSQL says may hold a whole row.
      throw new Error('The job failed; the log of its worker tells why.', { cause: error });
    }
  };
  const { Worker } = bullmq();
  const worker = new Worker<Data>(name, process, options as never, connection.backendFactory as never);
  worker.on('error', warnSparingly(log.child({ queue: name }), 'queue error'));
  worker.on('failed', (_job, error) => log.error({ err: error.cause ?? error, queue: name }, 'job failed'));
  return {
    async close() {
      await worker.close();
      connection.close();
    },
  };
}

/** Creates or upgrades the tables of BullMQ's PostgreSQL backend, in a schema of their own. */
export async function migrateQueueTables(databaseUrl: string): Promise<void> {
  const client = new StrictClient({ connectionString: databaseUrl });
  await client.connect();
  try {
    await bullmq().runMigrations(client);
  } finally {
    await client.end();
  }
}

interface QueueConnection {
  options: { connection: NonNullable<QueueOptions['connection']> };
  backendFactory: typeof createPostgresBackend | undefined;
  close(): void;
}

/** A producer fails fast, because a client is waiting; a worker waits for the store to come back. */
function openConnection(settings: QueueSettings, role: 'producer' | 'worker', log: Logger): QueueConnection {
  if (settings.REDIS_URL === null) return postgresConnection(settings.DATABASE_URL);
  const redis = openRedis(
    settings.REDIS_URL,
    role === 'producer' ? failFast : { maxRetriesPerRequest: null },
  );
  redis.on('error', (error) => log.debug({ err: error }, 'redis connection error'));
  return { options: { connection: redis }, backendFactory: undefined, close: () => redis.disconnect() };
}

function postgresConnection(databaseUrl: string | null): QueueConnection {
  const pool = {
    connectionString: databaseUrl,
    max: 3,
    connectionTimeoutMillis: 5_000,
    query_timeout: 10_000,
    keepAlive: true,
    Client: StrictClient,
  };
  return {
    options: { connection: pool as never },
    backendFactory: createPatientBackend,
    close: () => undefined,
  };
}

/**
 * BullMQ remembers for good that PostgreSQL could not be reached at the first try. Forgetting it lets a process that
 * was started before its database work as soon as that is there.
 */
const createPatientBackend: typeof createPostgresBackend = (name, options, factoryOptions) => {
  const backend = bullmq().createPostgresBackend(name, options, factoryOptions);
  const { connection } = backend as unknown as { connection: Remembering };
  for (const part of [backend as unknown as Remembering, connection]) {
    const waitUntilReady = part.waitUntilReady.bind(part);
    part.waitUntilReady = async () => {
      try {
        await waitUntilReady();
      } catch (error) {
        part.readyPromise = undefined;
        throw error;
      }
    };
  }
  return backend;
};

/** What BullMQ keeps to itself. */
interface Remembering {
  readyPromise: Promise<void> | undefined;
  waitUntilReady(): Promise<void>;
}

/** How a connection that somebody waits for behaves while Redis is gone or frozen. */
export const failFast: RedisOptions = {
  enableOfflineQueue: false,
  maxRetriesPerRequest: 1,
  connectTimeout: 1_000,
  commandTimeout: 1_000,
};

/** Opens Redis, or a Redis Cluster when the URL lists several nodes: `redis://a:6379,redis://b:6379`. */
export function openRedis(url: string, options: RedisOptions): Redis | Cluster {
  const nodes = url.split(',').map((node) => node.trim());
  const [first = ''] = nodes;
  const { Cluster, Redis } = ioredis();
  if (nodes.length === 1) return new Redis(first, options);
  const { password, username, protocol } = new URL(first);
  const redisOptions: RedisOptions = {
    ...options,
    ...(username === '' ? {} : { username: decodeURIComponent(username) }),
    ...(password === '' ? {} : { password: decodeURIComponent(password) }),
    ...(protocol === 'rediss:' ? { tls: {} } : {}),
  };
  return new Cluster(nodes, { redisOptions, enableOfflineQueue: options.enableOfflineQueue ?? true });
}

/** The hash tag keeps all keys of a queue on one node of a cluster, and queues apart from each other. */
function prefixOf(settings: QueueSettings, name: string): { prefix: string } {
  return { prefix: `{${settings.QUEUE_PREFIX}-${name}}` };
}

const redisNames = new Set(['MaxRetriesPerRequestError', 'ClusterAllFailedError']);

const redisMessages =
  /^(command timed out|stream isn't writeable|connection is closed|LOADING |CLUSTERDOWN |MASTERDOWN |READONLY |TRYAGAIN )/i;

/** True when an error says that the queues' store, Redis or PostgreSQL, is gone, frozen or not ready. */
export function isQueueUnavailable(error: unknown): boolean {
  if (isDatabaseUnavailable(error)) return true;
  return error instanceof Error && (redisNames.has(error.name) || redisMessages.test(error.message));
}

/** True when the queue refused to do something with a job because of the state that the job is in by now. */
export function isRefusedByQueue(error: unknown): boolean {
  return error instanceof Error && 'code' in error && typeof error.code === 'number' && error.code < 0;
}
