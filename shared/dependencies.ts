import { setTimeout as sleep } from 'node:timers/promises';
import { type HealthReads, openHealthReads } from './health/read-health.ts';
import { type ApiKeyLookup, openApiKeyLookup } from './organizations/find-api-key.ts';
import { type HashLimiter, openHashLimiter } from './people/sign-in/hash-limiter.ts';
import { type Clock, DatabaseClock } from './platform/clock.ts';
import { type FairLimit, openFairLimit } from './platform/concurrency/fair-limit.ts';
import type { ServiceSettings } from './platform/config.ts';
import { DataFormatError, timeOfSharedDatabase } from './platform/data-format.ts';
import { type Database, openDatabase, openReads, type Reads } from './platform/database.ts';
import { type Logger, warnSparingly } from './platform/log.ts';
import { openQueues, type RefundQueues } from './platform/queues.ts';
import { encryptionKeys, SecretBox } from './platform/secrets/secrets.ts';
import { type Metrics, openMetrics } from './platform/telemetry/metrics.ts';
import { noTelemetry, type Telemetry } from './platform/telemetry/telemetry.ts';
import { openVelocityReads, type VelocityReads } from './policies/policy-facts.ts';
import { ProcessorConnections } from './processors/accounts/connections.ts';
import { processorNames } from './processors/registry.ts';
import { type Lookups, openLookups } from './refunds/lifecycle/lookups.ts';
import { marksInMemory, type PositionMarks } from './refunds/lifecycle/position-marks.ts';
import { openRefundStatements, type RefundStatements } from './refunds/lifecycle/statements.ts';
import { openRefundReads, type RefundReads } from './refunds/queries/find-refunds.ts';

/**
 * The dependencies of a process; built once in its main, and by tests. Functions of shared/ name the part that they need, such as
 * `Stores`, by the types of the things themselves.
 */
export interface Dependencies {
  settings: ServiceSettings;
  log: Logger;
  metrics: Metrics;
  telemetry: Telemetry;
  clock: Clock;
  /** Resolves once this version must not use the database, which is read with its clock; with the reason. */
  refused: Promise<DataFormatError>;
  /** Uniform in [0, 1), for jitter. */
  random: () => number;
  db: Database;
  /** Frequent reads, with their own connections. */
  reads: Reads;
  queues: RefundQueues;
  /** Where workers keep how far the database has come. */
  positionMarks: PositionMarks;
  secrets: SecretBox;
  connections: ProcessorConnections;
  lookups: Lookups;
  velocities: VelocityReads;
  statements: RefundStatements;
  apiKeys: ApiKeyLookup;
  refundReads: RefundReads;
  hashLimiter: HashLimiter;
  /** Runs replays of policies, one of an organization at a time, so that they leave the process to refunds. */
  replays: FairLimit;
  health: HealthReads;
}

/** Builds the dependencies of a process. No store has to be reachable yet. */
export function openDependencies(
  settings: ServiceSettings,
  log: Logger,
  overrides: Partial<Dependencies> = {},
): Dependencies {
  const secrets = new SecretBox(encryptionKeys(settings));
  const { DATABASE_URL, DATABASE_POOL_SIZE: poolSize } = settings;
  const db = overrides.db ?? openDatabase(DATABASE_URL, { poolSize, settings });
  const reads = overrides.reads ?? openReads(DATABASE_URL, { poolSize: readConnections, settings });
  const metrics = overrides.metrics ?? openMetrics();
  let refuse: (reason: DataFormatError) => void = () => {};
  const refused = new Promise<DataFormatError>((resolve) => {
    refuse = resolve;
  });
  const warn = warnSparingly(log, 'the database cannot be used');
  const readDatabaseTime = () =>
    timeOfSharedDatabase(db).catch((error: unknown) => {
      if (error instanceof DataFormatError) refuse(error);
      else warn(error);
      throw error;
    });
  const clock = overrides.clock ?? new DatabaseClock({ readDatabaseTime });
  const positionMarks = overrides.positionMarks ?? marksInMemory();
  return {
    settings,
    log,
    metrics,
    telemetry: noTelemetry,
    clock,
    refused,
    random: Math.random,
    db,
    reads,
    apiKeys: openApiKeyLookup(reads),
    lookups: openLookups(reads),
    velocities: openVelocityReads(db),
    refundReads: openRefundReads(reads),
    statements: openRefundStatements(db, { settings, metrics, positionMarks }),
    positionMarks,
    queues: openQueues(settings, processorNames, log, (queue, result) =>
      metrics.wakeUps.inc({ queue, result }),
    ),
    secrets,
    connections: new ProcessorConnections({ db, clock, log, secrets, settings }),
    hashLimiter: openHashLimiter(),
    replays: openFairLimit({ inAll: 2, perOwner: 1 }),
    health: openHealthReads(db),
    ...overrides,
  };
}

/** Concurrent reads share statements, so a few connections are enough. */
const readConnections = 4;

/** How long a process that starts waits for the database's time. */
const clockStartWaitMs = 2_000;

/**
 * Waits for the first reading of the database's clock, so that a wrong clock of this machine is never used. Does not wait for
 * an unreachable database.
 * @throws DataFormatError when this version must not use the database.
 */
export async function untilClockStarted({
  clock,
  refused,
}: Pick<Dependencies, 'clock' | 'refused'>): Promise<void> {
  if (!(clock instanceof DatabaseClock)) return;
  const waited = new AbortController();
  const overdue = sleep(clockStartWaitMs, null, { signal: waited.signal }).catch(() => null);
  const refusal = await Promise.race([refused, clock.started.then(() => null), overdue]);
  waited.abort();
  if (refusal !== null) throw refusal;
}

/** Closes the process, as a signal does, once a newer version has migrated the database so that this one must not use it any more. */
export function closeWhenRefused({ refused, log }: Pick<Dependencies, 'refused' | 'log'>): void {
  void refused.then(({ message }) => {
    log.fatal(message);
    process.kill(process.pid, 'SIGTERM');
  });
}

/** Closes what `openDependencies` opened. */
export async function closeDependencies(deps: Dependencies): Promise<void> {
  const { clock, db, reads, queues, positionMarks, telemetry } = deps;
  positionMarks.close();
  if (clock instanceof DatabaseClock) clock.close();
  await Promise.allSettled([queues.close(), db.$disconnect(), reads.close(), telemetry.close()]);
}
