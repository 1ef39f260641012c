import { setTimeout as sleep } from 'node:timers/promises';
import { ProcessorConnections } from './accounts/connect.ts';
import type { Clock } from './clock.ts';
import type { ServiceSettings } from './config.ts';
import { DatabaseClock } from './database-clock.ts';
import { type Database, databaseNow, openDatabase } from './db.ts';
import type { Logger } from './log.ts';
import { HashingTurns } from './people/hashing-turns.ts';
import { processorNames } from './processors/registry.ts';
import { RefundQueues } from './queues.ts';
import { SecretBox } from './secrets.ts';

/** Everything that the code of a process works with; built once in its main, and by tests. */
export interface Dependencies {
  settings: ServiceSettings;
  log: Logger;
  clock: Clock;
  /** Uniform in [0, 1); jitter comes from it. */
  random: () => number;
  db: Database;
  queues: RefundQueues;
  secrets: SecretBox;
  connections: ProcessorConnections;
  /** Keeps the hashing of passwords within what a process can bear. */
  hashingTurns: HashingTurns;
}

/** Builds the dependencies of a process; nothing waits for a store, and none has to be there. */
export function openDependencies(
  settings: ServiceSettings,
  log: Logger,
  overrides: Partial<Dependencies> = {},
): Dependencies {
  const secrets = new SecretBox([settings.ENCRYPTION_KEY, ...settings.ENCRYPTION_PREVIOUS_KEYS]);
  const db = overrides.db ?? openDatabase(settings.DATABASE_URL, settings.DATABASE_POOL_SIZE);
  return {
    settings,
    log,
    clock: overrides.clock ?? new DatabaseClock({ readDatabaseTime: () => databaseNow(db) }),
    random: Math.random,
    db,
    queues: new RefundQueues(settings, processorNames, log),
    secrets,
    connections: new ProcessorConnections(secrets),
    hashingTurns: new HashingTurns(),
    ...overrides,
  };
}

/** How long a process that starts waits for the database to tell the time. */
const clockStartWaitMs = 2_000;

/**
 * Waits for the first look at the database's clock, so that a process whose own clock is wrong dates nothing by it. A
 * database that is gone is not waited for, and one that hangs not for long.
 */
export async function untilClockStarted({ clock }: Pick<Dependencies, 'clock'>): Promise<void> {
  if (!(clock instanceof DatabaseClock)) return;
  const waited = new AbortController();
  const overdue = sleep(clockStartWaitMs, null, { signal: waited.signal }).catch(() => {});
  await Promise.race([clock.started, overdue]);
  waited.abort();
}

/** Closes what `openDependencies` opened. */
export async function closeDependencies({ clock, db, queues }: Dependencies): Promise<void> {
  if (clock instanceof DatabaseClock) clock.close();
  await Promise.allSettled([queues.close(), db.$disconnect()]);
}
