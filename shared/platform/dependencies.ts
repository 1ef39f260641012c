import type { Clock } from './clock.ts';
import type { ServiceSettings } from './config.ts';
import type { Database, Reads } from './database.ts';
import type { Logger } from './log.ts';
import type { RefundQueues } from './queues.ts';
import type { SecretBox } from './secrets.ts';

/** What every part of the service may use. A room that needs more extends it; shared/dependencies.ts builds it all. */
export interface PlatformDependencies {
  settings: ServiceSettings;
  log: Logger;
  clock: Clock;
  /** Uniform in [0, 1); jitter comes from it. */
  random: () => number;
  db: Database;
  /** Connections of their own for frequent reads. */
  reads: Reads;
  queues: RefundQueues;
  secrets: SecretBox;
}
