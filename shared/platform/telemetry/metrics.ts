import { createRequire } from 'node:module';
import type * as Prometheus from 'prom-client';

const require = createRequire(import.meta.url);

// Not the package itself, which also loads OpenTelemetry and takes ten times as long: the API listens only after this file is loaded.
const Registry: typeof Prometheus.Registry = require('prom-client/lib/registry.js');
const Counter: typeof Prometheus.Counter = require('prom-client/lib/counter.js');
const Gauge: typeof Prometheus.Gauge = require('prom-client/lib/gauge.js');
const Histogram: typeof Prometheus.Histogram = require('prom-client/lib/histogram.js');

const requestBuckets = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30];
const refundBuckets = [0.5, 1, 2, 5, 10, 30, 60, 300, 900, 3_600, 6 * 3_600, 24 * 3_600, 3 * 24 * 3_600];
const itemBuckets = [1, 2, 5, 10, 20, 50, 100];

const place = ['processor', 'environment'] as const;

/**
 * All metrics of a process; docs/operations/metrics.md is made from their names and texts. Labels have few values: no label names an
 * organization, a refund or a path.
 */
export function openMetrics() {
  const registry = new Registry();
  const registers = [registry];
  return {
    registry,

    requestSeconds: new Histogram({
      name: 'refund_request_duration_seconds',
      help: 'Requests to the API by operation and HTTP status: how long until they were answered. Creations and cancellations include the wait for the verdict.',
      labelNames: ['operation', 'status'] as const,
      buckets: requestBuckets,
      registers,
    }),
    attempts: new Counter({
      name: 'refund_attempts_total',
      help: 'Attempts to send a refund, by outcome: accepted, rejected, unavailable, unknown or misconfigured. Unavailable and misconfigured include attempts that ended before anything was sent, because the payment could not be read or the credentials could not be used.',
      labelNames: [...place, 'outcome'] as const,
      registers,
    }),
    acceptedSeconds: new Histogram({
      name: 'refund_created_to_accepted_seconds',
      help: 'From the creation of a refund until the processor accepted it, approvals and holds included.',
      labelNames: place,
      buckets: refundBuckets,
      registers,
    }),
    settledSeconds: new Histogram({
      name: 'refund_created_to_settled_seconds',
      help: 'From the creation of a refund until it completed, approvals and holds included.',
      labelNames: place,
      buckets: refundBuckets,
      registers,
    }),
    statementItems: new Histogram({
      name: 'refund_statement_items',
      help: 'Items that shared one call of a SQL function that changes refunds.',
      labelNames: ['statement'] as const,
      buckets: itemBuckets,
      registers,
    }),
    wakeUps: new Counter({
      name: 'refund_wake_ups_total',
      help: 'Wake-ups of workers through the queues: added, failed to be added, or handled.',
      labelNames: ['queue', 'result'] as const,
      registers,
    }),
    deliveries: new Counter({
      name: 'refund_webhook_attempts_total',
      help: 'Attempts to deliver a webhook: delivered, retried later, or failed for good.',
      labelNames: ['result'] as const,
      registers,
    }),
    provenUntil: new Gauge({
      name: 'refund_timeline_proven_until_timestamp_seconds',
      help: 'The time up to which all events are covered by the root of their day, in seconds since 1970, as this worker last saw it; 0 in other processes.',
      registers,
    }),

    poolConnections: new Gauge({
      name: 'refund_pool_connections',
      help: 'Connections to PostgreSQL by pool: in use, idle, and callers that wait for one.',
      labelNames: ['pool', 'state'] as const,
      registers,
    }),
    queueTrouble: new Gauge({
      name: 'refund_queue_trouble',
      help: '1 for what is wrong with the store of the queues, as `queueTrouble` of /readyz names it; no value when nothing is.',
      labelNames: ['trouble'] as const,
      registers,
    }),
    databaseUp: new Gauge({
      name: 'refund_database_up',
      help: '1 when the state of the service could be read from the database for this scrape. Without it the metrics below are missing.',
      registers,
    }),

    // From the database, the same in every process: aggregate them with max, not with sum.
    workersAlive: new Gauge({
      name: 'refund_workers_alive',
      help: 'Workers that were seen in the last 20 seconds.',
      registers,
    }),
    recoveryRequired: new Gauge({
      name: 'refund_recovery_required',
      help: '1 while nothing is sent, because the database was restored from a backup and recover has not run.',
      registers,
    }),
    oldestDueSeconds: new Gauge({
      name: 'refund_oldest_due_age_seconds',
      help: 'For how long the next step of the longest due refund has been due that no worker works on; 0 without one.',
      labelNames: place,
      registers,
    }),
    openRefunds: new Gauge({
      name: 'refund_open_refunds',
      help: 'Refunds that have not ended: awaiting_approval, due, due_later. Of these: retrying, unknown (the processor may have it) and flagged. Counted up to 10,000 each.',
      labelNames: [...place, 'state'] as const,
      registers,
    }),
    unansweredSeconds: new Gauge({
      name: 'refund_processor_unanswered_seconds',
      help: 'For how long the processor has answered nothing for at least one account; 0 when all get answers.',
      labelNames: place,
      registers,
    }),
    misconfiguredAccounts: new Gauge({
      name: 'refund_misconfigured_accounts',
      help: 'Accounts whose credentials the processor refuses, or one of their abilities.',
      labelNames: place,
      registers,
    }),
    undeliveredSeconds: new Gauge({
      name: 'refund_webhook_oldest_undelivered_age_seconds',
      help: 'Age of the oldest event that was not delivered to an endpoint that accepts events; 0 when there is none.',
      registers,
    }),
  };
}

export type Metrics = ReturnType<typeof openMetrics>;
