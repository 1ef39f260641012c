import pg from 'pg';

/** Column values as `pg` takes them. */
export type Row = Record<string, unknown>;

/**
 * Inserts one row by hand, past the service, to show what the database itself refuses.
 * @throws the error of PostgreSQL, with `code` and `constraint`.
 */
export async function insertRow(client: pg.Client, table: string, row: Row): Promise<void> {
  const columns = Object.keys(row).map((name) => pg.escapeIdentifier(name));
  const places = columns.map((_, index) => `$${index + 1}`);
  await client.query(
    `insert into ${pg.escapeIdentifier(table)} (${columns.join(', ')}) values (${places.join(', ')})`,
    Object.values(row),
  );
}
