import type { Clock } from './clock.ts';
import type { ServiceSettings } from './config.ts';
import type { Database, Reads } from './database.ts';
import type { Logger } from './log.ts';
import type { RefundQueues } from './queues.ts';
import type { SecretBox } from './secrets.ts';

/** The dependencies that every folder may use. Others extend it; shared/dependencies.ts builds them. */
export interface PlatformDependencies {
  settings: ServiceSettings;
  log: Logger;
  clock: Clock;
  /** Uniform in [0, 1), for jitter. */
  random: () => number;
  db: Database;
  /** Frequent reads, with their own connections. */
  reads: Reads;
  queues: RefundQueues;
  secrets: SecretBox;
  /** Runs what only waits for something else. A request to the API holds no place meanwhile. */
  whileWaiting: <T>(wait: () => Promise<T>) => Promise<T>;
}
