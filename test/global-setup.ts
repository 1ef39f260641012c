import type { TestProject } from 'vitest/node';
import { migrate } from '../prisma/migrate.ts';
import { createDatabase, sealTemplate } from './harness/create-database.ts';
import { startPostgres } from './harness/embedded-postgres.ts';
import { findRedisServer, type RunningRedis, startRedis } from './harness/redis.ts';
import { templateDatabase } from './harness/run-servers.ts';

/** Starts the servers of a test run, once for all files. */
export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  const redis = await startRedisIfPresent();
  const postgres = await startPostgres({ durable: false });
  await migrate(await createDatabase(postgres.url, templateDatabase));
  await sealTemplate(postgres.url, templateDatabase);
  project.provide('postgresUrl', postgres.url);
  project.provide('redisUrl', redis?.url ?? null);
  return async () => {
    await Promise.all([postgres.stop(), redis?.stop()]);
  };
}

async function startRedisIfPresent(): Promise<RunningRedis | null> {
  if (findRedisServer() !== null) return startRedis();
  const skipped = 'Every test of queues on Redis, of a Redis Cluster and of a lost Redis';
  if (process.env.CI === 'true') {
    throw new Error(`There is no redis-server. ${skipped} would be skipped, which CI does not accept.`);
  }
  console.warn(`\n*** SKIPPED: there is no redis-server on PATH. ${skipped} is skipped.`);
  console.warn('*** The queues in PostgreSQL are tested. Install redis-server to test both.\n');
  return null;
}
