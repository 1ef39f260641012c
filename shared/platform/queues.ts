import { createRequire } from 'node:module';
import type { createPostgresBackend, Job, JobsOptions, Queue, QueueOptions, WorkerOptions } from 'bullmq';
import type { Cluster, Redis, RedisOptions } from 'ioredis';
import type { Settings } from './config.ts';
import { isDatabaseUnavailable, StrictClient } from './database.ts';
import { type Logger, warnSparingly } from './log.ts';
import { type SharedStatement, shareStatement } from './shared-statement.ts';

const require = createRequire(import.meta.url);

/** BullMQ loads slowly, so it is loaded with the first queue that is used. */
const bullmq = (): typeof import('bullmq') => require('bullmq');

/** Loaded only with Redis. */
const ioredis = (): typeof import('ioredis') => require('ioredis');

/**
 * A job is a wake-up call: it names a refund that has a step due, and carries nothing else. PostgreSQL is the truth, so a job
 * may be lost, late or repeated, and the sweep makes new ones from the database.
 */
export interface RefundJob {
  refundId: string;
}

/** The same for a webhook delivery that is due. */
export interface DeliveryJob {
  deliveryId: string;
}

type QueueSettings = Pick<Settings, 'DATABASE_URL' | 'REDIS_URL' | 'QUEUE_PREFIX'>;

/** One queue per processor, so that an outage of one does not delay the others. */
export function refundQueueName(processor: string): string {
  return `refunds-${processor}`;
}

export const deliveryQueueName = 'deliver-webhook';

function queueNames(processors: readonly string[]): string[] {
  return [...processors.map(refundQueueName), deliveryQueueName];
}

/** Completed jobs are removed; the last failed ones are kept for inspection. */
const jobOptions: JobsOptions = { attempts: 1, removeOnComplete: true, removeOnFail: { count: 500 } };

/** Jobs that may be on their way to a queue at once. Further ones are left to the sweep, which bounds the memory. */
const maxPending = 2_000;

/** Calls to the queue that may be under way at once. */
const enqueueLanes = 2;

/** The producing side: used by the API and by the sweep. */
export class RefundQueues {
  readonly #settings: QueueSettings;
  readonly #processors: readonly string[];
  readonly #log: Logger;
  readonly #warn: (error: unknown) => void;
  readonly #producers = new Map<string, Producer>();
  #opened: OpenQueues | null = null;

  /** The queues are opened with the first use. */
  constructor(settings: QueueSettings, processors: readonly string[], log: Logger) {
    this.#settings = settings;
    this.#processors = processors;
    this.#log = log;
    this.#warn = warnSparingly(log, 'the queue is unreachable; the sweep enqueues what is due later');
  }

  /**
   * Enqueues a refund for a worker. It neither waits nor fails: while the queue is unreachable, the sweep enqueues what is due.
   */
  enqueue({ id, processor }: { id: string; processor: string }): void {
    this.#enqueueShared(refundQueueName(processor), id, (ids) => this.enqueueAll(processor, ids));
  }

  /** The same for a webhook delivery that is due. */
  enqueueDelivery(deliveryId: string): void {
    this.#enqueueShared(deliveryQueueName, deliveryId, (ids) => this.enqueueDeliveries(ids));
  }

  /** Jobs of concurrent requests go out in one call. */
  #enqueueShared(queueName: string, id: string, enqueueAll: (ids: readonly string[]) => Promise<void>): void {
    let producer = this.#producers.get(queueName);
    if (producer === undefined) {
      const enqueue = shareStatement<string, void>(
        async (ids) => {
          await enqueueAll(ids);
          return ids.map(() => undefined);
        },
        { lanes: enqueueLanes },
      );
      producer = { enqueue, pending: 0 };
      this.#producers.set(queueName, producer);
    }
    const { enqueue } = producer;
    if (producer.pending >= maxPending) return;
    producer.pending += 1;
    enqueue(id)
      .catch(this.#warn)
      .finally(() => {
        producer.pending -= 1;
      });
  }

  /**
   * Enqueues refunds of one processor.
   * @throws when the queue does not accept the jobs.
   */
  async enqueueAll(processor: string, refundIds: readonly string[]): Promise<void> {
    const queue = this.#open().queues.get(refundQueueName(processor));
    if (queue === undefined) throw new RangeError(`No queue for processor ${processor}`);
    await addJobs(queue, 'advance-refund', refundIds, (refundId): RefundJob => ({ refundId }));
  }

  /**
   * Enqueues webhook deliveries.
   * @throws when the queue does not accept the jobs.
   */
  async enqueueDeliveries(deliveryIds: readonly string[]): Promise<void> {
    const queue = this.#open().queues.get(deliveryQueueName);
    if (queue === undefined) throw new RangeError(`No queue ${deliveryQueueName}`);
    await addJobs(queue, deliveryQueueName, deliveryIds, (deliveryId): DeliveryJob => ({ deliveryId }));
  }

  /** Resolves when the queue's store responds; for readiness. */
  async ping(): Promise<void> {
    const [queue] = this.#open().queues.values();
    await queue?.getJobCountByTypes('waiting');
  }

  /** Passes BullMQ's object of every queue to `use`, for the queue board. They hold the jobs of all organizations. */
  map<Result>(use: (queue: Queue) => Result): Result[] {
    return [...this.#open().queues.values()].map(use);
  }

  async close(): Promise<void> {
    if (this.#opened === null) return;
    const { queues, connection } = this.#opened;
    await Promise.allSettled([...queues.values()].map((queue) => queue.close()));
    connection.close();
  }

  #open(): OpenQueues {
    if (this.#opened !== null) return this.#opened;
    const connection = openConnection(this.#settings, 'producer', this.#log);
    this.#opened = {
      queues: new Map(queueNames(this.#processors).map((name) => [name, this.#openQueue(name, connection)])),
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

interface Producer {
  enqueue: SharedStatement<string, void>;
  /** Jobs on their way to the queue. */
  pending: number;
}

interface OpenQueues {
  /** By name. */
  queues: ReadonlyMap<string, Queue>;
  connection: QueueConnection;
}

async function addJobs(
  queue: Queue,
  name: string,
  ids: readonly string[],
  dataOf: (id: string) => RefundJob | DeliveryJob,
): Promise<void> {
  await queue.addBulk(
    ids.map((id) => ({
      name,
      data: dataOf(id),
      // One job per id waits at a time; one that arrives while another runs is run after it. With a custom job id, new
      // jobs would be dropped while old ones are kept.
      opts: { ...jobOptions, deduplication: { id, keepLastIfActive: true } },
    })),
  );
}

/** The consuming side of one queue. `close` waits for running jobs. */
export interface QueueWorker {
  close(): Promise<void>;
}

/**
 * Starts a worker on a queue: `handle` is called once per job. The jobs of a worker that died are retaken after the lock
 * duration and the stalled interval at most.
 */
export function openWorker<Data extends RefundJob | DeliveryJob>(
  settings: QueueSettings,
  name: string,
  concurrency: number,
  handle: (job: Data) => Promise<void>,
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
    // The default is 15 seconds, in which PostgreSQL may be back for long.
    runRetryDelay: 1_000,
    // For the chart of the queue board. In PostgreSQL every job would update the same row, which takes longer than all else.
    ...(settings.REDIS_URL === null ? {} : { metrics: { maxDataPoints: 60 } }),
  };
  const process = async (job: Job<Data>) => {
    try {
      await handle(job.data);
    } catch (error) {
      // The queue stores the message and stack of what is thrown, and an error of PostgreSQL may quote a whole row.
      throw new Error('The job failed. See the log of its worker.', { cause: error });
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

/**
 * Creates or upgrades what BullMQ's PostgreSQL backend uses, in a schema of its own. BullMQ would create the sequence of a
 * queue's job ids with its first job, which the role of the service may not.
 */
export async function migrateQueueTables(databaseUrl: string, processors: readonly string[]): Promise<void> {
  const client = new StrictClient({ connectionString: databaseUrl });
  await client.connect();
  try {
    await bullmq().runMigrations(client);
    for (const name of queueNames(processors)) await client.query('SELECT bullmq.next_job_id($1)', [name]);
  } finally {
    await client.end();
  }
}

interface QueueConnection {
  options: { connection: NonNullable<QueueOptions['connection']> };
  backendFactory: typeof createPostgresBackend | undefined;
  close(): void;
}

/** A producer fails fast, because a client is waiting. A worker waits until the store is back. */
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
 * BullMQ caches a failed first connection to PostgreSQL for good. Clearing that lets a process that was started before its
 * database work as soon as the database is up. Its LISTEN connection is made a `StrictClient`, too.
 */
const createPatientBackend: typeof createPostgresBackend = (name, options, factoryOptions) => {
  const backend = bullmq().createPostgresBackend(name, options, factoryOptions);
  const { connection } = backend as unknown as { connection: ReadyCache & { pgModule?: object } };
  // BullMQ listens on a client of its own and handles its errors only a moment after it has connected: a connection that
  // PostgreSQL closes right then would end the process.
  connection.pgModule = { Client: StrictClient };
  for (const part of [backend as unknown as ReadyCache, connection]) {
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

/** Private fields of BullMQ. */
interface ReadyCache {
  readyPromise: Promise<void> | undefined;
  waitUntilReady(): Promise<void>;
}

/** For connections that a request waits for: fail within a second while Redis is unreachable. */
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

/** True when an error says that the queues' store, Redis or PostgreSQL, is unreachable or not ready. */
export function isQueueUnavailable(error: unknown): boolean {
  if (isDatabaseUnavailable(error)) return true;
  return error instanceof Error && (redisNames.has(error.name) || redisMessages.test(error.message));
}

/** True when the queue refused an operation because of the job's current state. */
export function isRefusedByQueue(error: unknown): boolean {
  return error instanceof Error && 'code' in error && typeof error.code === 'number' && error.code < 0;
}
