import type { Database } from '../platform/database.ts';

/** How often a worker notes that it runs. */
export const heartbeatMs = 5_000;

/** A worker that has noted nothing for this long counts as gone: it was stopped, killed or frozen, or cannot reach the database. */
export const workerAliveMs = 20_000;

/** How long a worker that is gone stays on record, so that it is known since when none is left. */
const keptMs = 24 * 60 * 60 * 1000;

/** Notes that a worker runs, and removes those that are gone for long. */
export async function noteHeartbeat(db: Database, workerId: string): Promise<void> {
  await db.$executeRaw`
    WITH gone AS (
      DELETE FROM worker WHERE id <> ${workerId} AND seen_at < service_time() - ${keptMs} * interval '1 millisecond')
    INSERT INTO worker (id, started_at, seen_at) VALUES (${workerId}, service_time(), service_time())
    ON CONFLICT (id) DO UPDATE SET seen_at = excluded.seen_at`;
}

/** The workers of the whole service. */
export interface Workers {
  alive: number;
  /** When the last one was seen; null when none has run in the last day. */
  seenAt: Date | null;
  /** Since when they send nothing, because the database was restored, until a recovery; null when they may send. */
  heldSince: Date | null;
}

/** @returns the workers, and the database's time. */
export async function readWorkers(db: Database): Promise<Workers & { now: Date }> {
  const [row] = await db.$queryRaw<(Workers & { now: Date })[]>`
    SELECT count(*) FILTER (WHERE seen_at > moment - ${workerAliveMs} * interval '1 millisecond')::int AS alive,
      max(seen_at) AS "seenAt", (SELECT required_since FROM recovery WHERE id = 1) AS "heldSince", moment AS now
    FROM (SELECT service_time() AS moment) AS clock LEFT JOIN worker ON true GROUP BY moment`;
  if (row === undefined) throw new Error('The workers could not be read.');
  return row;
}
