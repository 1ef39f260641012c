import type { Database, Reads } from '../../platform/database.ts';

/** Whether the database may be older than what processors know. */
export interface Recovery {
  /** Another one after each recovery. */
  generation: string;
  /** The last committed position in the event feed. */
  position: number;
  /** Since when nothing is sent until a recovery; null when none is required. */
  requiredSince: Date | null;
}

export async function readRecovery(reads: Reads): Promise<Recovery> {
  const [row] = await reads.query<Omit<Recovery, 'position'> & { position: string }>(
    'SELECT generation, required_since AS "requiredSince", feed_position()::text AS position FROM recovery WHERE id = 1',
    [],
  );
  if (row === undefined) throw new Error('The row of recovery is missing');
  return { ...row, position: Number(row.position) };
}

/** Requires a recovery: workers send nothing until it has ended. See prisma/functions/refunds/require_recovery.sql. */
export async function requireRecovery(db: Database): Promise<void> {
  await db.$queryRaw`SELECT require_recovery(service_time())::text`;
}

/** Lets workers send again. Positions that were reached before count no more. */
export async function endRecovery(db: Database): Promise<void> {
  await db.$executeRaw`UPDATE recovery SET required_since = NULL, generation = gen_random_uuid()::text WHERE id = 1`;
}
