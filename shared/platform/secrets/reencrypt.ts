import { type Database, Prisma } from '../database.ts';
import type { SecretBox } from './secrets.ts';

/** A table with one encrypted secret per row at most, beside the column `encryption_key_id`. */
export interface SealedTable {
  table: string;
  /** The column that identifies a row. */
  id: string;
  secret: string;
  /** What the secret of a row is encrypted for. */
  contextOf(row: Readonly<Record<string, string>>): string;
}

/**
 * Encrypts the secrets of a table with the current encryption key.
 * @returns how many there are.
 * @throws SecretUnreadableError when the key of a secret is missing.
 */
export async function reencrypt(
  { db, secrets }: { db: Database; secrets: SecretBox },
  { table, id, secret, contextOf }: SealedTable,
): Promise<number> {
  const [from, key, column] = [table, id, secret].map((name) => Prisma.raw(name));
  type Row = Record<string, string> & { keyId: string; bytes: Uint8Array };
  const rows = await db.$queryRaw<Row[]>`
    SELECT *, encryption_key_id AS "keyId", ${column} AS bytes FROM ${from} WHERE ${column} IS NOT NULL`;
  for (const row of rows) {
    const context = contextOf(row);
    const sealed = secrets.seal(secrets.open(row, context), context);
    // One that was replaced meanwhile is encrypted with the current key already.
    await db.$executeRaw`
      UPDATE ${from} SET ${column} = ${sealed.bytes}, encryption_key_id = ${sealed.keyId}
      WHERE ${key} = ${row[id]} AND ${column} = ${row.bytes}`;
  }
  return rows.length;
}
