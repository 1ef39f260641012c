import type { TestProject } from 'vitest/node';
import { migrate } from '../prisma/migrate.ts';
import { migrateQueueTables } from '../shared/platform/queues.ts';
import { findChromium } from './support/dashboard/browser.ts';
import { canMountDisks } from './support/faults/small-disk.ts';
import { compileService, removeCompiled } from './support/processes/compiled-service.ts';
import { templateDatabase } from './support/processes/run-servers.ts';
import { createDatabase, sealTemplate } from './support/stores/database-client.ts';
import { startPostgres } from './support/stores/embedded-postgres.ts';
import { findRedisServer, type RunningRedis, startRedis } from './support/stores/redis.ts';

/** Starts the servers of a test run, once for all files. */
export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  const compiling = compileService();
  const redis = await startRedisIfPresent();
  const postgres = await startPostgres({ durable: false });
  const template = await createDatabase(postgres.url, templateDatabase);
  await migrate(template);
  // Also for queues on Redis, which have no use for the tables: so they are made once.
  await migrateQueueTables(template);
  await sealTemplate(postgres.url, templateDatabase);
  project.provide('postgresUrl', postgres.url);
  project.provide('redisUrl', redis?.url ?? null);
  project.provide('chromiumPath', chromiumIfPresent());
  project.provide('disks', mountsDisks());
  const compiledFolder = await compiling;
  project.provide('compiledFolder', compiledFolder);
  return async () => {
    removeCompiled(compiledFolder);
    await Promise.all([postgres.stop(), redis?.stop()]);
  };
}

async function startRedisIfPresent(): Promise<RunningRedis | null> {
  if (findRedisServer() !== null) return startRedis();
  tellSkipped(
    'there is no redis-server on PATH',
    'Every test of queues on Redis, of a Redis Cluster and of a lost Redis',
    'The queues in PostgreSQL are tested. Install redis-server to test both.',
  );
  return null;
}

function chromiumIfPresent(): string | null {
  const path = findChromium();
  if (path === null) {
    tellSkipped(
      'there is no chromium on PATH',
      'Every test of pages in a real browser',
      'What the server answers is tested. Install chromium to test what a browser makes of it.',
    );
  }
  return path;
}

function mountsDisks(): boolean {
  if (canMountDisks()) return true;
  tellSkipped(
    'no file system can be mounted',
    'Every test of a disk that is full',
    'Run them as root on Linux, in a container with CAP_SYS_ADMIN.',
  );
  return false;
}

/** @throws Error where nothing may be skipped. */
function tellSkipped(reason: string, what: string, advice: string): void {
  if (process.env.CI === 'true')
    throw new Error(`${what} would be skipped, which CI does not accept: ${reason}.`);
  console.warn(`\n*** SKIPPED: ${reason}. ${what} is skipped.`);
  console.warn(`*** ${advice}\n`);
}
