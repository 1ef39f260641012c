import { randomBytes } from 'node:crypto';
import { inject } from 'vitest';
import { createApiKey, revokeApiKey } from '#shared/organizations/api-keys.ts';
import { type Deployment, deploy } from '../../support/faults/deployment.ts';
import type { Canary } from '../../support/http/canaries.ts';
import type { CliResult } from '../../support/processes/admin-cli.ts';
import type { Serve } from '../../support/processors/scripted-server.ts';
import { postgresQueues } from '../../support/stores/backends.ts';
import { withClient } from '../../support/stores/database-client.ts';
import { asService } from '../../support/stores/service-role.ts';
import { type Collector, startCollector } from '../../support/traces/collector.ts';
import { administer, breakJobs, startWithBadSettings, usePeople } from './operations.ts';
import { everything, secrets } from './planted.ts';
import { clientOf, useCorrectly, useEchoingProcessors, useWrongly } from './requests.ts';

/** The service with planted secrets, and everything that its use leaves behind. */
export interface Site {
  processes: Deployment;
  collector: Collector;
  databaseUrl: string;
  /** The same as the service uses it, with a password that is a secret. */
  databaseUrlWithSecret: string;
  serve: Serve;
  trail: Trail;
}

interface Trail {
  logs: [process: string, text: string][];
  answers: [request: string, text: string][];
  commands: [command: string, result: CliResult][];
  /** Secrets that the service made itself. */
  keys: Canary[];
  tokens: Canary[];
}

/** Starts the service, whose database has a secret password. */
export async function openSite(databaseUrl: string, serve: Site['serve']): Promise<Site> {
  const databaseUrlWithSecret = await withPassword(databaseUrl, secrets.databasePassword.text);
  const processes = await deploy({
    databaseUrl,
    serviceUrl: databaseUrlWithSecret,
    backend: postgresQueues,
    compiledFolder: inject('compiledFolder'),
  });
  const collector = await startCollector(serve);
  const trail = { logs: [], answers: [], commands: [], keys: [], tokens: [] };
  return { processes, collector, databaseUrl, databaseUrlWithSecret, serve, trail };
}

/** What must appear nowhere but in its own columns. */
export function allCanaries({ processes, trail }: Site): Canary[] {
  const { ENCRYPTION_KEY: text } = processes.service.settings;
  return [...everything, ...trail.keys, ...trail.tokens, { what: 'the ENCRYPTION_KEY', text }];
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

/** Uses every part of the service, also wrongly, with a canary in every input. */
export async function drive(site: Site): Promise<void> {
  const { service } = site.processes;
  const { deps, organization } = service;
  site.trail.keys.push(
    ...Object.values(organization.keys).map(({ plaintext: text }) => ({ what: 'an API key', text })),
  );
  const revoked = await createApiKey(deps, {
    organizationId: organization.id,
    environment: 'test',
    actor: 'test',
  });
  await revokeApiKey(deps, { keyId: revoked.id, actor: 'test' });
  site.trail.keys.push({ what: 'a revoked API key', text: revoked.plaintext });
  await usePeople(site);
  const endpoint = { OTEL_EXPORTER_OTLP_ENDPOINT: site.collector.url };
  const trace = { LOG_LEVEL: 'trace', CREATE_WAIT_MS: '1500', CANCEL_WAIT_MS: '500', ...endpoint };
  const [api, worker] = await Promise.all([
    site.processes.startApi(trace),
    site.processes.startWorker(trace),
  ]);
  const client = clientOf(site, api);
  await useCorrectly(site, client);
  await useWrongly(site, client, revoked.plaintext);
  await useEchoingProcessors(site, client);
  await breakJobs(site, client);
  await worker.kill();
  await api.process.stop();
  site.trail.logs.push(['API', api.process.output()], ['worker that was killed', worker.output()]);
  await startWithBadSettings(site);
  await administer(site);
}
