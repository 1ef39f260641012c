import type { TestProject } from 'vitest/node';
import { findCompose } from './support/containers/find-compose.ts';
import { findChromium } from './support/dashboard/browser.ts';
import { compileService, removeCompiled } from './support/processes/compiled-service.ts';
import { isNginxPresent } from './support/processes/nginx.ts';
import { templateDatabase } from './support/processes/run-servers.ts';
import { createDatabase, sealTemplate } from './support/stores/database-client.ts';
import { startPostgres } from './support/stores/embedded-postgres.ts';
import { findRedisServer, type RunningRedis, startRedis } from './support/stores/redis.ts';
import { prepareForTests } from './support/stores/service-role.ts';

/** Only `npm run test:system` has tests that need these. */
const isRelease = process.env.RELEASE === 'true';

/** Starts the servers that all files of a test run share. */
export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  const compiling = compileService();
  const redis = await startRedisIfPresent();
  // Autovacuum visits every database, and there are hundreds in the end.
  const postgres = await startPostgres({ durable: false, settings: { autovacuum_naptime: '10min' } });
  const template = await createDatabase(postgres.url, templateDatabase);
  // Once for all databases, also those whose queues are on Redis.
  await prepareForTests(template);
  await sealTemplate(postgres.url, templateDatabase);
  project.provide('postgresUrl', postgres.url);
  project.provide('redisUrl', redis?.url ?? null);
  project.provide('chromiumPath', chromiumIfPresent());
  project.provide('nginx', isRelease && nginxIsPresent());
  project.provide('compose', isRelease ? composeIfPresent() : null);
  const compiledFolder = await compiling;
  project.provide('compiledFolder', compiledFolder);
  return async () => {
    removeCompiled(compiledFolder);
    await Promise.all([postgres.stop(), redis?.stop()]);
  };
}

async function startRedisIfPresent(): Promise<RunningRedis | null> {
  if (findRedisServer() !== null) return startRedis();
  reportSkipped('redis-server is not on PATH', 'Every test with Redis', 'Install redis-server to run them.');
  return null;
}

function chromiumIfPresent(): string | null {
  const path = findChromium();
  if (path === null) {
    reportSkipped('chromium is not on PATH', 'Every test with a browser', 'Install chromium to run them.');
  }
  return path;
}

function nginxIsPresent(): boolean {
  if (isNginxPresent()) return true;
  reportSkipped('nginx is not on PATH', 'The test of the reverse proxy', 'Install nginx-light to run it.');
  return false;
}

function composeIfPresent(): string[] | null {
  const compose = findCompose();
  if (compose === null) {
    reportSkipped(
      'no container engine answers, or Docker Compose is missing',
      'The test of the image and of docker-compose.yml',
      'Start Docker, or set DOCKER_HOST, to run it.',
    );
  }
  return compose;
}

/** @throws Error in CI, which accepts no skipped tests. */
function reportSkipped(reason: string, what: string, advice: string): void {
  if (process.env.CI === 'true') throw new Error(`${what} would be skipped, because ${reason}. ${advice}`);
  console.warn(`\n*** SKIPPED: ${what}, because ${reason}.`);
  console.warn(`*** ${advice}\n`);
}
