import type { TestProject } from 'vitest/node';
import { templateDatabase } from '../support/processes/run-servers.ts';
import { createDatabase, sealTemplate } from '../support/stores/database-client.ts';
import { startPostgres } from '../support/stores/embedded-postgres.ts';
import { findRedisServer, type RunningRedis, startRedis } from '../support/stores/redis.ts';
import { prepareForTests } from '../support/stores/service-role.ts';
import { reportSkipped } from './skipped.ts';

/** Starts the PostgreSQL and the Redis that all files of a test run share. */
export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  const redis = await startRedisIfPresent();
  // It would visit hundreds of databases, and change their plans at any time.
  const postgres = await startPostgres({ durable: false, settings: { autovacuum: 'off' } });
  const template = await createDatabase(postgres.url, templateDatabase);
  // Once for all databases, also those whose queues are on Redis.
  await prepareForTests(template);
  await sealTemplate(postgres.url, templateDatabase);
  project.provide('postgresUrl', postgres.url);
  project.provide('redisUrl', redis?.url ?? null);
  return async () => {
    await Promise.all([postgres.stop(), redis?.stop()]);
  };
}

async function startRedisIfPresent(): Promise<RunningRedis | null> {
  if (findRedisServer() !== null) return startRedis();
  reportSkipped('redis-server is not on PATH', 'Every test with Redis', 'Install redis-server to run them.');
  return null;
}
