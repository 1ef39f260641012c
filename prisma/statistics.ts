import { withLock } from './migrate.ts';

/**
 * Lets the planner know the tables at once, instead of when autovacuum has visited them: all of them after a migration, else those
 * that were never analyzed, as after a restore. Sessions then plan anew what they keep. It locks nothing that the service needs, and
 * leaves out a table that another session analyzes or alters.
 * @param databaseUrl as the owner of the tables.
 */
export async function collectStatistics(
  databaseUrl: string,
  { hasMigrated, log }: { hasMigrated: boolean; log: (line: string) => void },
): Promise<void> {
  await withLock(databaseUrl, log, async (client) => {
    const { rows } = await client.query<{ tables: string | null }>(
      `SELECT string_agg(relid::regclass::text, ', ') AS tables FROM pg_stat_user_tables
       WHERE schemaname = current_schema() AND ($1 OR coalesce(last_analyze, last_autoanalyze) IS NULL)`,
      [hasMigrated],
    );
    const tables = rows[0]?.tables ?? null;
    if (tables !== null) await client.query(`ANALYZE (SKIP_LOCKED) ${tables}`);
  });
}
