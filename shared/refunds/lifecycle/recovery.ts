import type { Database, DatabaseTransaction } from '../../platform/database.ts';
import { toItems } from '../model/rows.ts';
import type { PositionMark } from './position-marks.ts';

/** Whether the database may be older than what processors know. */
interface Recovery {
  /** Another one after each recovery. */
  generation: string;
  /** False while a recovery is required. */
  maySend: boolean;
  /** The last committed event of the feed; null for an empty feed. */
  lastEvent: Omit<PositionMark, 'generation'> | null;
}

/** @param reached events that were seen; a recovery is required when the database lacks one of them. */
export async function readRecovery(db: Database, reached: readonly PositionMark[]): Promise<Recovery> {
  const [row] = await db.$queryRaw<
    (Omit<Recovery, 'lastEvent'> & { position: bigint | null; eventId: string })[]
  >`
    SELECT may_advance(${toItems(reached)}::jsonb, service_time()) AS "maySend", r.generation, last.position, last.id AS "eventId"
    FROM recovery AS r LEFT JOIN LATERAL (
      SELECT e.position, e.id FROM refund_event AS e WHERE e.position IS NOT NULL ORDER BY e.position DESC LIMIT 1
    ) AS last ON true WHERE r.id = 1`;
  if (row === undefined) throw new Error('The row of recovery is missing');
  const { generation, maySend, position, eventId } = row;
  const lastEvent = position === null ? null : { position: Number(position), eventId };
  return { generation, maySend, lastEvent };
}

/** Since when a recovery is required; null when none is. */
export async function recoveryRequiredSince(db: DatabaseTransaction): Promise<Date | null> {
  const { requiredSince } = await db.recovery.findUniqueOrThrow({ where: { id: 1 } });
  return requiredSince;
}

/** Requires a recovery: workers send nothing until it has ended. See prisma/functions/refunds/require_recovery.sql. */
export async function requireRecovery(db: Database): Promise<void> {
  await db.$queryRaw`SELECT require_recovery(service_time())::text`;
}

/** Open refunds of which one statement requests a resync: a statement has a time limit. */
const resyncedAtOnce = 5_000;

/**
 * Lets workers send again. See prisma/functions/refunds/end_recovery.sql.
 * @param began before the first account was read, by the clock of its run; now, where none was.
 */
export async function endRecovery(db: Database, began: Date | null = null): Promise<void> {
  for (let asked = resyncedAtOnce; asked === resyncedAtOnce; ) {
    const [row] = await db.$queryRaw<
      { asked: number }[]
    >`SELECT resync_open_refunds(${resyncedAtOnce}::int) AS asked`;
    asked = row?.asked ?? 0;
  }
  await db.$queryRaw`SELECT end_recovery(coalesce(${began}::timestamptz, service_time()))::text`;
}
