import type pg from 'pg';
import { waitFor } from '../wait-for.ts';

/** Waits until so many statements wait for a lock in the database of this connection, which may be in a transaction. */
export async function waitForLock(client: pg.Client, count = 1): Promise<void> {
  await waitFor(`${count} to wait for a lock`, async () => {
    // Within a transaction it would be looked at only once.
    await client.query('SELECT pg_stat_clear_snapshot()');
    const { rows } = await client.query(
      `SELECT 1 FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'`,
    );
    return rows.length >= count;
  });
}
