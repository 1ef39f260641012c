import { expect } from 'vitest';
import { withClient } from './database-client.ts';

/** Fails when any row of any table holds the text, as it is or in an encoding that a column may have. */
export async function expectNotInDatabase(databaseUrl: string, secret: string): Promise<void> {
  const content = await wholeDatabase(databaseUrl);
  // An empty answer would prove nothing.
  expect(content).toContain('org_');
  for (const encoding of ['utf8', 'hex', 'base64'] as const) {
    expect(content.includes(Buffer.from(secret).toString(encoding)), encoding).toBe(false);
  }
}

/** Every row of every table as text; bytes are hexadecimal. */
export async function wholeDatabase(databaseUrl: string): Promise<string> {
  return withClient(databaseUrl, async (client) => {
    const { rows: tables } = await client.query<{ name: string }>(
      `select format('%I.%I', table_schema, table_name) as name from information_schema.tables
       where table_type = 'BASE TABLE' and table_schema not in ('pg_catalog', 'information_schema')`,
    );
    const texts: string[] = [];
    for (const { name } of tables) {
      const { rows } = await client.query<{ row: string }>(`select t::text as row from ${name} t`);
      texts.push(...rows.map(({ row }) => row));
    }
    return texts.join('\n');
  });
}
