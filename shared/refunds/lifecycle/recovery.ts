import type { Database, Reads } from '../../platform/database.ts';
import type { PositionMark } from '../../platform/position-marks.ts';

/** Whether the database may be older than what processors know. */
export interface Recovery {
  /** Another one after each recovery. */
  generation: string;
  /** Since when nothing is sent until a recovery; null when none is required. */
  requiredSince: Date | null;
  /** The last committed event of the feed; null for an empty feed. */
  lastEvent: Omit<PositionMark, 'generation'> | null;
}

export async function readRecovery(reads: Reads): Promise<Recovery> {
  const [row] = await reads.query<Omit<Recovery, 'lastEvent'> & { position: string | null; eventId: string }>(
    `SELECT r.generation, r.required_since AS "requiredSince", last.position::text, last.id AS "eventId"
     FROM recovery AS r LEFT JOIN LATERAL (
       SELECT e.position, e.id FROM refund_event AS e WHERE e.position IS NOT NULL ORDER BY e.position DESC LIMIT 1
     ) AS last ON true WHERE r.id = 1`,
    [],
  );
  if (row === undefined) throw new Error('The row of recovery is missing');
  const { generation, requiredSince, position, eventId } = row;
  const lastEvent = position === null ? null : { position: Number(position), eventId };
  return { generation, requiredSince, lastEvent };
}

/** Requires a recovery: workers send nothing until it has ended. See prisma/functions/refunds/require_recovery.sql. */
export async function requireRecovery(db: Database): Promise<void> {
  await db.$queryRaw`SELECT require_recovery(service_time())::text`;
}

/** Lets workers send again. See prisma/functions/refunds/end_recovery.sql. */
export async function endRecovery(db: Database): Promise<void> {
  await db.$queryRaw`SELECT end_recovery()::text`;
}
