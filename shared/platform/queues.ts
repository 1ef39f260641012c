import { createHmac } from 'node:crypto';
import { setImmediate, setTimeout as sleep } from 'node:timers/promises';
import {
  createPostgresBackend,
  createRedisBackend,
  type Job,
  type JobsOptions,
  Queue,
  type QueueOptions,
  runMigrations,
  Worker,
  type WorkerOptions,
} from 'bullmq';
import pg from 'pg';
import type { Settings } from './config.ts';
import { StrictClient } from './database.ts';
import { type Logger, warnSparingly } from './log.ts';
import { failFast, openRedis, readServers } from './redis.ts';
import { type QueueTrouble, refusalOfRedis } from './redis-trouble.ts';

type QueueSettings = Pick<
  Settings,
  | 'DATABASE_URL'
  | 'REDIS_URL'
  | 'REDIS_SENTINELS'
  | 'QUEUE_PREFIX'
  | 'ENCRYPTION_KEY'
  | 'ENCRYPTION_PREVIOUS_KEYS'
>;

/** One queue per processor, so that an outage of one does not delay the others. */
export function refundQueueName(processor: string): string {
  return `refunds-${processor}`;
}

/** For all that is due but refunds: deliveries, and batches. */
export const deliveryQueueName = 'deliver-webhook';

function queueNames(processors: readonly string[]): string[] {
  return [...processors.map(refundQueueName), deliveryQueueName];
}

/**
 * A job is only a wake-up: its worker looks in PostgreSQL for what is due. One waits per queue; one that is added while another is
 * active follows it. It may be lost, late or repeated, because workers also look by themselves. With a custom job id, new jobs
 * would be dropped while failed ones are kept for inspection.
 */
const wakeUp = {
  name: 'wake-up',
  options: {
    attempts: 1,
    removeOnComplete: true,
    removeOnFail: { count: 500 },
    deduplication: { id: 'wake-up', keepLastIfActive: true },
  } satisfies JobsOptions,
};

/** The producing side. */
export interface RefundQueues {
  /** Wakes a worker, because refunds of a processor are due. It neither waits nor fails. */
  wake(processor: string): void;
  /** The same for what else is due: batches, and webhook deliveries that were requested. */
  wakeWorkers(): void;
  /**
   * Says what is wrong with the queue's store, which has to take a write as wake-ups need it; null when nothing is. It never fails, and
   * takes two seconds at most.
   */
  check(): Promise<QueueTrouble | null>;
  /** Passes BullMQ's object of every queue to `use`, for the queue board. They have the jobs of all organizations. */
  map<Result>(use: (queue: Queue) => Result): Result[];
  close(): Promise<void>;
}

/**
 * Opens the queues with the first use.
 * @param count called with the end of each attempt to add a wake-up.
 */
export function openQueues(
  settings: QueueSettings,
  processors: readonly string[],
  log: Logger,
  count: (queue: string, result: 'added' | 'failed') => void = () => {},
): RefundQueues {
  const warn = warnSparingly(log, 'the queue is unreachable; workers look for what is due by themselves');
  let opened: { queues: ReadonlyMap<string, Queue>; connection: QueueConnection } | null = null;
  const open = () => {
    if (opened !== null) return opened.queues;
    const connection = openConnection(settings, 0, log);
    const openQueue = (name: string) => {
      const options: QueueOptions = {
        ...connection.options,
        ...prefixOf(settings),
        ...{ skipMetasUpdate: true, skipVersionCheck: true },
      };
      const queue = new Queue(name, options as never, connection.openBackend as never);
      queue.on('error', warn);
      return queue;
    };
    const queues = new Map(queueNames(processors).map((name) => [name, openQueue(name)]));
    opened = { queues, connection };
    return queues;
  };
  const add = async (name: string) => {
    try {
      const queue = open().get(name);
      if (queue === undefined) throw new RangeError(`No queue ${name}`);
      await queue.add(wakeUp.name, null, wakeUp.options);
      count(name, 'added');
    } catch (error) {
      count(name, 'failed');
      throw error;
    }
  };
  const wakeUps = new Map<string, () => void>();
  const wake = (name: string) => {
    const shared = wakeUps.get(name) ?? shareRuns(() => add(name), warn);
    wakeUps.set(name, shared);
    shared();
  };
  return {
    wake: (processor) => wake(refundQueueName(processor)),
    wakeWorkers: () => wake(deliveryQueueName),
    async check() {
      const [queue] = open().values();
      const check = async () => {
        await queue?.waitUntilReady();
        if (opened?.connection.check !== null) return (await opened?.connection.check()) ?? null;
        await queue?.getJobCountByTypes('waiting');
        return null;
      };
      const waited = new AbortController();
      const refusal = (error?: unknown) =>
        refusalOfRedis(error) ?? refusalOfRedis(opened?.connection.lastError()) ?? 'unreachable';
      const overdue = sleep(longestCheckMs, undefined, { signal: waited.signal }).then(
        () => refusal(),
        () => null,
      );
      return await Promise.race([check().catch(refusal), overdue]).finally(() => waited.abort());
    },
    map: (use) => [...open().values()].map(use),
    async close() {
      if (opened === null) return;
      await Promise.allSettled([...opened.queues.values()].map((queue) => queue.close()));
      await opened.connection.close();
    },
  };
}

/** A probe that waits longer is given up by its sender. */
const longestCheckMs = 2_000;

/**
 * Lets calls share runs: those of a moment share one, and those that come during a run share the next one. An idle process so adds
 * a wake-up at once, and a busy one no more of them than its queue takes.
 */
function shareRuns(run: () => Promise<void>, warn: (error: unknown) => void): () => void {
  let isWanted = false;
  let isRunning = false;
  const repeat = async () => {
    while (isWanted) {
      await setImmediate();
      isWanted = false;
      await run().catch(warn);
    }
    isRunning = false;
  };
  return () => {
    isWanted = true;
    if (isRunning) return;
    isRunning = true;
    void repeat();
  };
}

/**
 * How long the queue's store has to note the end of the last job. BullMQ waits for ever for a connection that is just then waiting
 * to reconnect (taskforcesh/bullmq#4656).
 */
const longestClosingMs = 2_000;

/** The consuming side of queues. `close` waits for running jobs, and not for a store that is unreachable. */
export interface QueueWorker {
  close(): Promise<void>;
}

/** Handles a wake-up. @param release makes room for another one in the queue, for another worker, before this one has ended. */
type Handle = (release: () => Promise<void>) => Promise<void>;

/**
 * Starts a worker on each queue, which share connections. A handler is called for one wake-up at a time. One whose worker died is taken
 * by another after the lock duration and the stalled interval at most.
 * @param handlers by the name of the queue.
 */
export function openWorkers(
  settings: QueueSettings,
  handlers: ReadonlyMap<string, Handle>,
  log: Logger,
): QueueWorker {
  const connection = openConnection(settings, handlers.size, log);
  const workers = [...handlers].map(([name, handle]) =>
    openWorker({ settings, connection, log }, name, handle),
  );
  return {
    async close() {
      await Promise.all(workers.map((worker) => worker.close()));
      await connection.close();
    },
  };
}

interface WorkerDependencies {
  settings: QueueSettings;
  connection: QueueConnection;
  log: Logger;
}

function openWorker(
  { settings, connection, log }: WorkerDependencies,
  name: string,
  handle: Handle,
): QueueWorker {
  const options: WorkerOptions = {
    ...connection.options,
    ...prefixOf(settings),
    lockDuration: 15_000,
    stalledInterval: 5_000,
    maxStalledCount: 1_000,
    // The default is 15 seconds, in which PostgreSQL may be back for long.
    runRetryDelay: pauses.shortestMs,
    // INFO is among the commands that Redis calls dangerous, and BullMQ's loop would repeat its refusal without a pause for ever.
    skipVersionCheck: true,
    // For the chart of the queue board. In PostgreSQL every job would update the same row, which takes longer than all else. There a
    // notification ends the wait for a job, and each wait costs statements.
    ...(settings.REDIS_URL === null ? { drainDelay: 60 } : { metrics: { maxDataPoints: 60 } }),
  };
  let handling: Promise<void> | null = null;
  const process = async (job: Job) => {
    try {
      handling = handle(async () => void (await job.removeDeduplicationKey()));
      await handling;
    } catch (error) {
      // The queue stores the message and stack of what is thrown, and an error of PostgreSQL may quote a whole row.
      throw new Error('The job failed. See the log of its worker.', { cause: error });
    }
  };
  const closing = new AbortController();
  const openBackend: OpenBackend = (...args) => withPauses(connection.openBackend(...args), closing.signal);
  const worker = new Worker(name, process, options as never, openBackend as never);
  worker.on('error', warnSparingly(log.child({ queue: name }), 'queue error'));
  worker.on('failed', (_job, error) => log.error({ err: error.cause ?? error, queue: name }, 'job failed'));
  return {
    async close() {
      closing.abort();
      const closed = worker.close();
      await Promise.allSettled([handling]);
      await Promise.race([closed, sleep(longestClosingMs, undefined, { ref: false })]);
    },
  };
}

/** After each failure of what a worker repeats, until it succeeds. */
const pauses = { shortestMs: 1_000, longestMs: 15_000 };

/** What a worker's loop repeats. */
type LoopSteps = Pick<ReturnType<typeof createRedisBackend>, 'moveToActive' | 'waitForJob'>;

type OpenBackend = (...args: Parameters<typeof createRedisBackend>) => LoopSteps;

/**
 * Makes the steps of a worker's loop fail only after a pause, which grows. BullMQ pauses where a connection is refused, and repeats
 * whatever else a store refuses at once: thousands of times a second where Redis is full or a replica.
 * @param closing ends the pauses.
 */
function withPauses(backend: LoopSteps, closing: AbortSignal): LoopSteps {
  for (const name of ['moveToActive', 'waitForJob'] as const) {
    const step = backend[name].bind(backend) as (...args: unknown[]) => Promise<unknown>;
    let pauseMs = pauses.shortestMs;
    const patientStep = async (...args: unknown[]) => {
      try {
        const result = await step(...args);
        pauseMs = pauses.shortestMs;
        return result;
      } catch (error) {
        await sleep(pauseMs, undefined, { signal: closing }).catch(() => {});
        pauseMs = Math.min(2 * pauseMs, pauses.longestMs);
        throw error;
      }
    };
    Object.assign(backend, { [name]: patientStep });
  }
  return backend;
}

/**
 * Creates or upgrades what BullMQ's PostgreSQL backend uses, in a schema of its own. BullMQ would create the sequence of a
 * queue's job ids with its first job, which the role of the service may not.
 */
export async function migrateQueueTables(databaseUrl: string, processors: readonly string[]): Promise<void> {
  const client = new StrictClient({ connectionString: databaseUrl });
  await client.connect();
  try {
    await runMigrations(client);
    for (const name of queueNames(processors)) await client.query('SELECT bullmq.next_job_id($1)', [name]);
  } finally {
    await client.end();
  }
}

interface QueueConnection {
  options: { connection: NonNullable<QueueOptions['connection']> };
  openBackend: OpenBackend;
  /** Tries a write as wake-ups need it. Null for PostgreSQL, of which readiness knows otherwise. */
  check: (() => Promise<QueueTrouble | null>) | null;
  /** Why it could not be used last: what comes while it connects anew says nothing. */
  lastError(): unknown;
  /** Does not wait for a store that is unreachable. */
  close(): Promise<void>;
}

/**
 * A producer fails fast, because a client is waiting. A worker waits until the store is back.
 * @param listening how many queues a worker listens to; 0 for a producer.
 */
function openConnection(settings: QueueSettings, listening: number, log: Logger): QueueConnection {
  if (settings.REDIS_URL === null) return postgresConnection(settings.DATABASE_URL, listening);
  const redis = openRedis(settings, listening === 0 ? failFast : { maxRetriesPerRequest: null });
  let lastError: unknown = null;
  redis.on('error', (error) => {
    lastError = error;
    log.debug({ err: error }, 'redis connection error');
  });
  return {
    options: { connection: redis },
    openBackend: createRedisBackend,
    async check() {
      try {
        const trouble = await checkRedis(redis, settings);
        lastError = null;
        return trouble;
      } catch (error) {
        if (refusalOfRedis(error) !== null) lastError = error;
        throw error;
      }
    },
    lastError: () => lastError,
    close: async () => redis.disconnect(),
  };
}

async function checkRedis(
  redis: ReturnType<typeof openRedis>,
  settings: QueueSettings,
): Promise<QueueTrouble | null> {
  const [own = '', ...previous] = marksOf(settings);
  const found = await redis.eval(markScript, 1, `${prefixOf(settings).prefix}:written`, own);
  if (typeof found === 'string' && ![own, ...previous].includes(found)) return 'shared_prefix';
  const servers = await readServers(redis);
  const isEvicting = servers.some(({ evictionPolicy }) => (evictionPolicy ?? 'noeviction') !== 'noeviction');
  return isEvicting ? 'evicts' : null;
}

/** In a script, as wake-ups are added. It leaves who has written last, for a minute. */
const markScript =
  "local found = redis.call('GET', KEYS[1]) redis.call('SET', KEYS[1], ARGV[1], 'PX', 60000) return found";

/** What an installation is known by to others on the same Redis: its encryption keys, none of which can be told from its mark. */
function marksOf({ ENCRYPTION_KEY, ENCRYPTION_PREVIOUS_KEYS }: QueueSettings): string[] {
  const keys = [ENCRYPTION_KEY ?? '', ...ENCRYPTION_PREVIOUS_KEYS];
  return keys.map((key) => createHmac('sha256', key).update('installation').digest('base64url').slice(0, 16));
}

/** Connections of a process to PostgreSQL for its queues, besides one for each queue of a worker, which listens. */
const queueConnections = 2;

function postgresConnection(databaseUrl: string | null, listening: number): QueueConnection {
  const pool = new pg.Pool({
    ...(databaseUrl === null ? {} : { connectionString: databaseUrl }),
    application_name: 'refund-service queues',
    // Where BullMQ's statements find its tables.
    options: '-c search_path=bullmq',
    max: queueConnections + listening,
    connectionTimeoutMillis: 5_000,
    query_timeout: 10_000,
    keepAlive: true,
    // BullMQ takes a connection that listens for one whose loss is noticed soon.
    keepAliveInitialDelayMillis: 10_000,
    Client: StrictClient,
  });
  return {
    options: { connection: pool as never },
    openBackend: createPatientBackend as never,
    check: null,
    lastError: () => null,
    async close() {
      if (pool.ending) return;
      await Promise.race([pool.end(), sleep(longestClosingMs, undefined, { ref: false })]);
    },
  };
}

/**
 * BullMQ caches a failed first connection to PostgreSQL for good. Clearing that lets a process that was started before its
 * database work as soon as the database is up.
 */
const createPatientBackend: typeof createPostgresBackend = (name, options, factoryOptions) => {
  const backend = createPostgresBackend(name, options, factoryOptions);
  const { connection } = backend as unknown as { connection: ReadyCache };
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

/**
 * One prefix for all queues, to be entered in BullMQ's own tools. The hash tag keeps the keys of a queue on one node of a cluster.
 */
function prefixOf({ QUEUE_PREFIX }: QueueSettings): { prefix: string } {
  return { prefix: `{${QUEUE_PREFIX}}` };
}
