import type { ServiceSettings } from '#shared/platform/config.ts';
import type { QueueTrouble } from '#shared/platform/redis-trouble.ts';
import type { TestService } from '../service.ts';

/** Stores of a service, until the test ends. */
export interface Stores {
  /** A migrated database, as the owner of its tables. */
  databaseUrl: string;
  /** The same database as the service uses it; by default, with the role that tests share. */
  serviceUrl?: string;
  /** Null for queues in PostgreSQL. */
  redisUrl: string | null;
  settings?: Partial<ServiceSettings>;
  /** What happens when half of the refunds have been created. */
  disturb?(service: TestService): Promise<unknown>;
  /** What the migration refused first, in its words. */
  refused?: string;
}

/** A row of the table. */
export interface StoreKind {
  name: string;
  /** What `doctor` is read about. */
  subject: 'PostgreSQL' | 'Redis';
  /** What is wrong with the store of the queues at the end; nothing by default. */
  trouble?: QueueTrouble;
  /** Opens them. Null when this machine cannot have them. */
  open(): Promise<Stores | null>;
}
