import type { Dependencies } from '#shared/dependencies.ts';

/** Rows of tables and entries of indexes, and pages of both. */
export interface ReadSoFar {
  rows: number;
  pages: number;
}

/** What was read so far in the database of a service that has one connection of each kind. */
export async function readSoFar({ deps: { db, reads } }: { deps: Dependencies }): Promise<ReadSoFar> {
  await reads.query('SELECT pg_stat_force_next_flush()::text', []);
  await db.$queryRaw`SELECT pg_stat_force_next_flush()::text`;
  const [row] = await db.$queryRaw<ReadSoFar[]>`
    SELECT ((SELECT sum(seq_tup_read) FROM pg_stat_user_tables WHERE schemaname = 'public')
        + (SELECT sum(idx_tup_read) FROM pg_stat_user_indexes WHERE schemaname = 'public'))::int AS rows,
      (SELECT sum(heap_blks_hit + heap_blks_read + coalesce(idx_blks_hit + idx_blks_read, 0)) FROM pg_statio_user_tables
        WHERE schemaname = 'public')::int AS pages`;
  return row ?? { rows: 0, pages: 0 };
}
