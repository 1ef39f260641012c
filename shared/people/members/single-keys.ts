import type { Database } from '../../platform/database.ts';

/** Stores whether single keys, such as `a` to approve, do something on a user's pages. */
export async function chooseSingleKeys(
  { db }: { db: Database },
  userId: string,
  singleKeys: boolean,
): Promise<void> {
  await db.user.update({ where: { id: userId }, data: { singleKeys } });
}
