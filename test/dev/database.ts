import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { MigrationError } from '#prisma/migrate.ts';
import { prepareDatabase } from '#prisma/prepare-database.ts';
import { createDatabase } from '../support/stores/database-client.ts';
import { type RunningPostgres, startPostgres } from '../support/stores/embedded-postgres.ts';
import { asService } from '../support/stores/service-role.ts';
import { pickPort } from './ports.ts';
import { StartError } from './program.ts';

export interface DevDatabase {
  /** As the service uses it. */
  url: string;
  /** As the owner of its tables. */
  ownerUrl: string;
  /** Stops PostgreSQL, unless `givenUrl` named it. */
  stop(): Promise<void>;
}

export interface DevDatabaseOptions {
  dataDir: string;
  /** A PostgreSQL to use instead of the embedded one. */
  givenUrl: string | null;
  /** The same as the owner of its tables; null when the service is to be the owner. */
  givenOwnerUrl: string | null;
  /** Where the queues are; null for the same database. */
  redisUrl: string | null;
  /** Used when it is free, so that the address stays the same. */
  preferredPort: number | null;
  say: (line: string) => void;
}

/** Opens the database and applies the migrations. */
export async function openDevDatabase(options: DevDatabaseOptions): Promise<DevDatabase> {
  const { givenUrl, givenOwnerUrl, redisUrl, say } = options;
  const database =
    givenUrl === null
      ? await startOwn(options)
      : { url: givenUrl, ownerUrl: givenOwnerUrl ?? givenUrl, stop };
  const { url, ownerUrl } = database;
  try {
    await prepareDatabase({ ownerUrl, serviceUrl: url === ownerUrl ? null : url, redisUrl, log: say });
    return database;
  } catch (error) {
    await database.stop();
    throw error instanceof MigrationError ? new StartError(error.message) : error;
  }
}

/** A database that was given keeps running. */
async function stop(): Promise<void> {}

async function startOwn({ dataDir, preferredPort, say }: DevDatabaseOptions): Promise<DevDatabase> {
  const port = await pickPort(preferredPort);
  const start = () => startPostgres({ dataDir: join(dataDir, 'postgres'), port, durable: true });
  const postgres = keepPostgresRunning(await start(), start, say);
  try {
    const ownerUrl = await createDatabase(postgres.url, 'refunds', { ifMissing: true });
    return { url: asService(ownerUrl), ownerUrl, stop: postgres.stop };
  } catch (error) {
    await postgres.stop();
    throw error;
  }
}

const restartPauseMs = 1_000;

function keepPostgresRunning(
  first: RunningPostgres,
  start: () => Promise<RunningPostgres>,
  say: (line: string) => void,
): { url: string; stop(): Promise<void> } {
  const stopped = new AbortController();
  let current = first;
  const keep = async () => {
    for (;;) {
      const log = await current.exited;
      if (stopped.signal.aborted) return;
      say(`PostgreSQL ended. Restarting. ${log.split('\n').at(-1) ?? ''}`);
      await sleep(restartPauseMs, null, { signal: stopped.signal }).catch(() => {});
      if (stopped.signal.aborted) return;
      // When the start fails, `current` stays the server that ended, and the loop tries again.
      current = await start().catch((error: Error) => {
        say(error.message);
        return current;
      });
      if (stopped.signal.aborted) return;
    }
  };
  const done = keep();
  const stop = async () => {
    stopped.abort();
    await current.stop();
    await done;
    // The loop may have started another server meanwhile.
    await current.stop();
  };
  return { url: first.url, stop };
}
