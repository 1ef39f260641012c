import { type Database, Prisma } from '../../platform/database.ts';
import { takenInLastDaySql } from './lookups.ts';

/**
 * What counts against the daily limits of keys, in one statement: their refunds of the last 24 hours that have neither failed nor
 * been cancelled.
 * @returns minor units of the given currencies, by the id of the key.
 */
export async function takenByKeys(
  db: Database,
  keys: readonly { id: string; currency: string }[],
): Promise<Map<string, bigint>> {
  const rows = await db.$queryRaw<{ id: string; taken: bigint }[]>`
    SELECT asked.api_key_id AS id, ${Prisma.raw(takenInLastDaySql)} AS taken
    FROM unnest(${keys.map(({ id }) => id)}::text[], ${keys.map(({ currency }) => currency)}::text[])
      AS asked(api_key_id, currency)`;
  return new Map(rows.map(({ id, taken }) => [id, taken]));
}
