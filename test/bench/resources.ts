import { execFileSync } from 'node:child_process';
import { query } from '../support/stores/database-client.ts';

/** The memory that a process has in use, in bytes. */
export function residentBytes(pid: number): number {
  return Number(execFileSync('ps', ['-o', 'rss=', '-p', String(pid)], { encoding: 'utf8' })) * 1024;
}

export interface TableSize {
  name: string;
  rows: number;
  tableBytes: number;
  indexBytes: number;
  updates: number;
  /** Updates that touched no index. */
  hotUpdates: number;
}

/** Tables that hold something, the largest first, with the updates since the database was made. */
export async function readTableSizes(databaseUrl: string): Promise<TableSize[]> {
  const rows = await query(
    databaseUrl,
    `select case schemaname when 'public' then relname else schemaname || '.' || relname end as name,
       n_live_tup::float8 as rows, pg_table_size(relid)::float8 as "tableBytes",
       pg_indexes_size(relid)::float8 as "indexBytes", n_tup_upd::float8 as updates,
       n_tup_hot_upd::float8 as "hotUpdates"
     from pg_stat_user_tables
     where n_live_tup > 100 or n_tup_upd > 100
     order by pg_total_relation_size(relid) desc`,
  );
  return rows as TableSize[];
}
