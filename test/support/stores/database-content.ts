import { expect } from 'vitest';
import { withClient } from './database-client.ts';

/** One column of one row as text; bytes are hexadecimal. */
export interface Cell {
  /** `schema.table.column`. */
  column: string;
  text: string;
}

/** Fails when a row of any table holds the text, plain or encoded as hex or base64. */
export async function expectNotInDatabase(databaseUrl: string, secret: string): Promise<void> {
  const content = (await everyCell(databaseUrl)).map(({ text }) => text).join('\n');
  // An empty result would prove nothing.
  expect(content).toContain('org_');
  for (const encoding of ['utf8', 'hex', 'base64'] as const) {
    expect(content.includes(Buffer.from(secret).toString(encoding)), encoding).toBe(false);
  }
}

/** Every value in a database, including the tables of the queues. */
export async function everyCell(databaseUrl: string): Promise<Cell[]> {
  return withClient(databaseUrl, async (client) => {
    // One statement for all tables.
    const { rows: tables } = await client.query<{ query: string }>(
      `select format(
         'select %L || cell.name as column, cell.text
          from %I.%I as t, jsonb_each_text(to_jsonb(t)) as cell(name, text) where cell.text is not null',
         format('%s.%s.', schemaname, tablename), schemaname, tablename) as query
       from pg_tables where schemaname not in ('pg_catalog', 'information_schema')`,
    );
    return (await client.query<Cell>(tables.map(({ query }) => query).join(' union all '))).rows;
  });
}

/** Every column of bytes. */
export async function byteColumns(databaseUrl: string): Promise<string[]> {
  return withClient(databaseUrl, async (client) => {
    const { rows } = await client.query<{ column: string }>(
      `select format('%s.%s.%s', table_schema, table_name, column_name) as column
       from information_schema.columns where data_type = 'bytea'
       and table_schema not in ('pg_catalog', 'information_schema') order by 1`,
    );
    return rows.map(({ column }) => column);
  });
}

/** Every value as one text, to be compared later. */
export async function wholeDatabase(databaseUrl: string): Promise<string> {
  const cells = await everyCell(databaseUrl);
  return cells.map(({ column, text }) => `${column}: ${text}`).join('\n');
}
