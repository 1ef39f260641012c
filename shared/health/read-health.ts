import { setTimeout as sleep } from 'node:timers/promises';
import type { Database } from '../platform/database.ts';
import type { Environment } from '../platform/environment.ts';
import { processorNames } from '../processors/registry.ts';
import { fromRow, type RowJson, time } from '../refunds/model/rows.ts';
import { type Workers, workerAliveMs } from './heartbeat.ts';
import type { AccountInTrouble } from './trouble.ts';

/** The accounts of all organizations at a processor in one environment. */
export interface ProcessorPlace {
  processor: string;
  environment: Environment;
}

/** The state of the whole service. Counts are exact up to a limit, 10,000 per processor and state. */
export interface ServiceHealth {
  /** When it was read, in the database's time. */
  now: Date;
  workers: Workers;
  work: (ProcessorPlace & {
    /** Refunds whose next step is due, those under way included. */
    due: number;
    /** Refunds whose next step is due later. */
    later: number;
    /** When the longest due refund became due that no worker works on; null without one. */
    dueSince: Date | null;
  })[];
  flagged: (ProcessorPlace & { refunds: number })[];
  /** Refunds that await approval. */
  pending: (ProcessorPlace & { refunds: number })[];
  /** Accounts whose credentials their processor refuses, or one of their abilities. */
  misconfigured: (ProcessorPlace & { accounts: number })[];
  accountsInTrouble: AccountInTrouble[];
  /** When the oldest event was created that was not delivered to an endpoint that accepts events; null without one. */
  undeliveredSince: Date | null;
}

/** Refunds per processor and state that are counted. */
const mostPerState = 10_000;

/** Reads the state of the service in one statement. @param most where counting ends, per processor and state. */
export async function readHealth(db: Database, most = mostPerState): Promise<ServiceHealth> {
  const [row] = await db.$queryRaw<{ health: string }[]>`
    SELECT service_health(${[...processorNames]}, ${workerAliveMs}::int, ${most}::int)::text AS health`;
  if (row === undefined) throw new Error('service_health() returned no row');
  const { accounts, ...health }: Omit<ServiceHealth, 'accountsInTrouble'> & { accounts: RowJson[] } =
    JSON.parse(row.health, (_key, value) => (isTime(value) ? new Date(value) : value));
  return { ...health, accountsInTrouble: accounts.map(accountInTroubleFrom) };
}

function accountInTroubleFrom(row: RowJson): AccountInTrouble {
  return fromRow<AccountInTrouble>(row, { since: time, nextAttemptAt: time });
}

/** Nothing else in the state of the service begins like a date. */
function isTime(value: unknown): value is string {
  return typeof value === 'string' && /^\d{4}-\d\d-\d\dT/.test(value);
}

/** Reads the state of the service; readings within two seconds, and those of concurrent callers, are shared. */
export type HealthReads = () => Promise<ServiceHealth>;

const sharedMs = 2_000;

export function openHealthReads(db: Database): HealthReads {
  let reading: Promise<ServiceHealth> | null = null;
  let readAt = Number.NEGATIVE_INFINITY;
  return () => {
    if (reading !== null && performance.now() - readAt < sharedMs) return reading;
    readAt = performance.now();
    const started = readHealth(db);
    reading = started;
    // The next caller asks again.
    started.catch(() => {
      if (reading === started) reading = null;
    });
    return started;
  };
}

/** A probe or a scrape that waits longer is given up by its sender. */
const longestReadMs = 2_000;

/** @returns null when the state cannot be read in time. */
export async function readHealthInTime(health: HealthReads): Promise<ServiceHealth | null> {
  const waited = new AbortController();
  const overdue = sleep(longestReadMs, null, { signal: waited.signal }).catch(() => null);
  const read = health().catch(() => null);
  return await Promise.race([read, overdue]).finally(() => waited.abort());
}
