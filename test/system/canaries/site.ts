import { randomBytes } from 'node:crypto';
import { inject } from 'vitest';
import { type Deployment, deploy } from '../../support/faults/deployment.ts';
import type { Canary } from '../../support/http/canaries.ts';
import type { CliResult } from '../../support/processes/admin-cli.ts';
import type { useScriptedServers } from '../../support/processors/scripted-server.ts';
import type { QueueBackend } from '../../support/stores/backends.ts';
import { withClient } from '../../support/stores/database-client.ts';
import { everyCell } from '../../support/stores/database-content.ts';
import { everyRedisKey, startRedis } from '../../support/stores/redis.ts';
import { asService } from '../../support/stores/service-role.ts';
import { everything, secrets } from './planted.ts';

/** The service with planted secrets, and everything that its use leaves behind. */
export interface Site {
  processes: Deployment;
  backend: QueueBackend;
  databaseUrl: string;
  /** The same as the service uses it, with a password that is a secret. */
  databaseUrlWithSecret: string;
  /** The URL of a Redis that demands a password; null with queues in PostgreSQL. */
  redisUrl: ((password: string) => string) | null;
  serve: ReturnType<typeof useScriptedServers>;
  trail: Trail;
  close(): Promise<void>;
}

interface Trail {
  logs: [process: string, text: string][];
  answers: [request: string, text: string][];
  commands: [command: string, result: CliResult][];
  titles: [process: string, text: string][];
  /** Secrets that the service made itself. */
  keys: Canary[];
  tokens: Canary[];
}

/** Starts the service, whose stores have secret passwords. */
export async function openSite(
  backend: QueueBackend,
  databaseUrl: string,
  serve: Site['serve'],
): Promise<Site> {
  const databaseUrlWithSecret = await withPassword(databaseUrl, secrets.databasePassword.text);
  const redis =
    backend.redisUrl === null
      ? null
      : await startRedis({ args: ['--requirepass', secrets.redisPassword.text] });
  const redisUrl =
    redis === null ? null : (password: string) => `redis://:${password}@127.0.0.1:${redis.port}`;
  const processes = await deploy({
    databaseUrl,
    serviceUrl: databaseUrlWithSecret,
    backend: { name: backend.name, redisUrl: redisUrl?.(secrets.redisPassword.text) ?? null },
    compiledFolder: inject('compiledFolder'),
  });
  return {
    ...{ processes, backend, databaseUrl, databaseUrlWithSecret, redisUrl, serve },
    trail: { logs: [], answers: [], commands: [], titles: [], keys: [], tokens: [] },
    async close() {
      await processes.close();
      await redis?.stop();
    },
  };
}

/** What must appear nowhere but in its own columns. */
export function allCanaries({ processes, trail }: Site): Canary[] {
  const { ENCRYPTION_KEY: text } = processes.service.settings;
  return [...everything, ...trail.keys, ...trail.tokens, { what: 'the ENCRYPTION_KEY', text }];
}

/** What the queue keeps of failed jobs. */
export async function failedJobs(site: Site): Promise<string[]> {
  const stored =
    site.redisUrl === null
      ? await everyCell(site.databaseUrl)
      : await everyRedisKey(site.redisUrl(secrets.redisPassword.text));
  return stored.map(({ text }) => text).filter((text) => text.includes('The job failed'));
}

/** The URL of the database for a new user with this password and the rights of the service. */
async function withPassword(databaseUrl: string, password: string): Promise<string> {
  const user = `canary_${randomBytes(4).toString('hex')}`;
  const url = new URL(asService(databaseUrl));
  await withClient(databaseUrl, (client) =>
    client.query(`create role ${user} login password '${password}' in role ${url.username}`),
  );
  url.username = user;
  url.password = password;
  return url.href;
}
