import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { ServiceSettings } from '../platform/config.ts';
import { poolUse } from '../platform/database.ts';
import type { Logger } from '../platform/log.ts';
import type { RefundQueues } from '../platform/queues.ts';
import type { Metrics } from '../platform/telemetry/metrics.ts';
import { type HealthReads, readHealthInTime } from './read-health.ts';
import { setHealth } from './set-health.ts';

/** Serves `/metrics`, on a port of its own. */
export interface MetricsListener {
  /** Null when METRICS_PORT is not set. */
  port: number | null;
  close(): Promise<void>;
}

interface MetricsDependencies {
  settings: ServiceSettings;
  log: Logger;
  metrics: Metrics;
  health: HealthReads;
  queues: Pick<RefundQueues, 'check'>;
}

/** Names with what `openDatabase` and `openReads` returned. */
type NamedPools = Readonly<Record<string, object>>;

/**
 * Serves the metrics of this process on METRICS_PORT. Does nothing while that is not set.
 * @throws Error with the code EADDRINUSE when another process uses the port.
 */
export async function serveMetrics(deps: MetricsDependencies, pools: NamedPools): Promise<MetricsListener> {
  const { METRICS_PORT: port, METRICS_HOST: host } = deps.settings;
  if (port === undefined) return { port: null, close: async () => {} };
  await collectProcessMetrics(deps.metrics);
  const server = createServer((request, response) => {
    if (request.method !== 'GET' || request.url?.split('?')[0] !== '/metrics') {
      response.writeHead(404, { 'content-type': 'text/plain; charset=utf-8' }).end('GET /metrics\n');
      return;
    }
    renderMetrics(deps, pools).then(
      (text) => response.writeHead(200, { 'content-type': deps.metrics.registry.contentType }).end(text),
      (error: unknown) => {
        deps.log.error({ err: error }, 'the metrics could not be rendered');
        response.writeHead(500).end();
      },
    );
  });
  server.requestTimeout = 10_000;
  await once(server.listen({ port, host }), 'listening');
  const { port: bound } = server.address() as AddressInfo;
  deps.log.info({ host, port: bound }, 'serving metrics');
  return {
    port: bound,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

/** The metrics in Prometheus's text format, with what is read for them alone: the state of the service, of the queues and
 * of the pools. */
export async function renderMetrics(
  { settings, metrics, health, queues }: Omit<MetricsDependencies, 'log'>,
  pools: NamedPools,
): Promise<string> {
  for (const [pool, opened] of Object.entries(pools)) setPool(metrics, pool, opened);
  // Queues in PostgreSQL are as the database is.
  const checking = settings.REDIS_URL === null ? null : queues.check();
  const [state, trouble] = await Promise.all([readHealthInTime(health), checking]);
  setHealth(metrics, state);
  metrics.queueTrouble.reset();
  if (trouble !== null) metrics.queueTrouble.set({ trouble }, 1);
  return await metrics.registry.metrics();
}

function setPool({ poolConnections }: Metrics, pool: string, opened: object): void {
  const use = poolUse(opened);
  if (use === null) return;
  poolConnections.set({ pool, state: 'in_use' }, use.totalCount - use.idleCount);
  poolConnections.set({ pool, state: 'idle' }, use.idleCount);
  poolConnections.set({ pool, state: 'waiting' }, use.waitingCount);
}

/** Adds memory, CPU, garbage collection and event loop lag. Loaded late, because it takes long and only this listener shows them. */
async function collectProcessMetrics({ registry }: Metrics): Promise<void> {
  const { collectDefaultMetrics } = await import('prom-client');
  collectDefaultMetrics({ register: registry, prefix: 'refund_' });
}
