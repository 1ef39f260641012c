import { loadSettings, type ServiceSettings } from '#shared/platform/config.ts';
import { leaseMs } from '#shared/refunds/model/attempts.ts';

// The times of the service, shortened so that what takes a minute in production takes seconds here. Their order is that
// of production: a processor applies a late request before a lookup counts as proof that it never will.

const processorTimeoutMs = 2_000;

/** How long after the end of an attempt a lookup that finds nothing is proof. */
const settleDelayMs = 10_000;

/** The longest that the sandbox takes to apply a request after it has cut off its caller. */
export const latestApplyMs = 4_500;

/** The longest that a worker is frozen: its attempt must not yet count as one that never happened. */
export const longestWorkerFreezeMs =
  leaseMs({ PROCESSOR_TIMEOUT_MS: processorTimeoutMs }) + settleDelayMs - 3_000;

const { DATABASE_URL: _url, ENCRYPTION_KEY: _key, REDIS_URL: _redis, ...production } = loadSettings({});

export const chaosSettings: Partial<ServiceSettings> = {
  ...production,
  QUEUE_PREFIX: `chaos-${process.pid}`,
  PROCESSOR_TIMEOUT_MS: processorTimeoutMs,
  LOOKUP_SETTLE_DELAY_MS: settleDelayMs,
  CREATE_WAIT_MS: 1_000,
  CANCEL_WAIT_MS: 2_000,
  MAX_WAIT_MS: 2_000,
  TRANSACTION_READ_TIMEOUT_MS: 700,
  RETRY_BASE_MS: 100,
  RETRY_CAP_MS: 2_000,
  SETTLEMENT_BASE_MS: 100,
  SETTLEMENT_CAP_MS: 1_000,
  SWEEP_INTERVAL_MS: 250,
  RATE_LIMIT_PER_SECOND: 0,
  PROCESSOR_ACCOUNT_CALLS_PER_SECOND: 1_000,
  LOG_LEVEL: 'silent',
};
