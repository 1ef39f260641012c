import { join } from 'node:path';
import { MigrationError } from '#prisma/migrate.ts';
import { prepareDatabase } from '#prisma/prepare-database.ts';
import type { Exit } from '../support/processes/child-process.ts';
import { keepRunning } from '../support/processes/keep-running.ts';
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
  const onExit = () =>
    say(`PostgreSQL ended. Restarting. ${postgres.current().output().trim().split('\n').at(-1)}`);
  const onFailure = (error: Error) => say(error.message);
  const postgres = await keepRunning<Exit, RunningPostgres>({ start, onExit, onFailure });
  const stop = () => postgres.stop((server) => server.stop());
  try {
    const ownerUrl = await createDatabase(postgres.current().url, 'refunds', { ifMissing: true });
    return { url: asService(ownerUrl), ownerUrl, stop };
  } catch (error) {
    await stop();
    throw error;
  }
}
