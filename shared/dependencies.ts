import { ProcessorConnections } from './accounts/connect.ts';
import { type Clock, systemClock } from './clock.ts';
import type { ServiceSettings } from './config.ts';
import { type Database, openDatabase } from './db.ts';
import type { Logger } from './log.ts';
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
}

/** Builds the dependencies of a process; nothing is connected until it is first used. */
export function openDependencies(
  settings: ServiceSettings,
  log: Logger,
  overrides: Partial<Dependencies> = {},
): Dependencies {
  const secrets = new SecretBox([settings.ENCRYPTION_KEY, ...settings.ENCRYPTION_PREVIOUS_KEYS]);
  return {
    settings,
    log,
    clock: systemClock,
    random: Math.random,
    db: openDatabase(settings.DATABASE_URL, settings.DATABASE_POOL_SIZE),
    queues: new RefundQueues(settings, processorNames, log),
    secrets,
    connections: new ProcessorConnections(secrets),
    ...overrides,
  };
}

/** Closes what `openDependencies` opened. */
export async function closeDependencies({ db, queues }: Dependencies): Promise<void> {
  await Promise.allSettled([queues.close(), db.$disconnect()]);
}
