import { recordingMarginMs } from '../../../shared/refunds/model/lookup-proof.ts';

// The times of the service, shortened so that what takes a minute in production takes seconds here. They stand in the
// same order as there: a processor applies a request late sooner than a lookup counts as proof that it never will.

const processorTimeoutMs = 2_000;

/** How long a claimed refund belongs to its worker. */
export const leaseMs = processorTimeoutMs + recordingMarginMs;

/** How long after the end of an attempt a lookup that finds nothing is proof. */
export const settleDelayMs = 10_000;

/** What the sandbox takes at most to apply a request whose caller it has cut off. */
export const latestApplyMs = 4_500;

/** How long the sandbox is frozen at most; requests that wait there are applied when it goes on. */
export const longestSandboxFreezeMs = 2_000;

/** How long a worker is frozen at most: within this its attempt cannot yet be taken for one that never happened. */
export const longestWorkerFreezeMs = leaseMs + settleDelayMs - 3_000;

/** How long a request waits for a verdict at most. */
const maxWaitMs = 2_000;

export interface Stores {
  databaseUrl: string;
  /** Null for queues in PostgreSQL. */
  redisUrl: string | null;
  encryptionKey: string;
}

/** The environment of an API or a worker. */
export function serviceEnvironment(stores: Stores): Record<string, string | undefined> {
  const numbers = {
    PROCESSOR_TIMEOUT_MS: processorTimeoutMs,
    LOOKUP_SETTLE_DELAY_MS: settleDelayMs,
    CREATE_WAIT_MS: 1_000,
    CANCEL_WAIT_MS: maxWaitMs,
    MAX_WAIT_MS: maxWaitMs,
    TRANSACTION_READ_TIMEOUT_MS: 700,
    RETRY_BASE_MS: 100,
    RETRY_CAP_MS: 2_000,
    SETTLEMENT_BASE_MS: 100,
    SETTLEMENT_CAP_MS: 1_000,
    SWEEP_INTERVAL_MS: 250,
    RATE_LIMIT_PER_SECOND: 0,
  };
  return {
    ...Object.fromEntries(Object.entries(numbers).map(([name, value]) => [name, String(value)])),
    NODE_ENV: 'test',
    DATABASE_URL: stores.databaseUrl,
    REDIS_URL: stores.redisUrl ?? undefined,
    ENCRYPTION_KEY: stores.encryptionKey,
    LOG_LEVEL: 'info',
  };
}
