import { type Cursor, decodeCursor, encodeCursor, type Position } from '../../platform/cursor.ts';
import { type Database, Prisma } from '../../platform/database.ts';
import type { RefundOwner, RefundWithWork } from '../model/refund.ts';
import { conditionOf, type RefundFilter } from './refund-filter.ts';

/** A page of refunds in their order. `next` is the cursor of the page after it, `previous` of the one before; null where there are none. */
export interface RefundPage {
  refunds: RefundWithWork[];
  next: string | null;
  previous: string | null;
}

interface PageRequest {
  /** From an earlier page of the same filter and order; null for the first one. */
  cursor: string | null;
  limit: number;
  /** By the time of creation; the newest first by default. */
  isOldestFirst?: boolean;
}

/**
 * A page of refunds. It costs the same anywhere in the list.
 * @throws ServiceError validation_error for an invalid cursor.
 */
export async function searchRefunds(
  db: Database,
  owner: RefundOwner,
  filter: RefundFilter,
  { cursor, limit, isOldestFirst = false }: PageRequest,
): Promise<RefundPage> {
  const [onward, backward] = isOldestFirst ? (['newer', 'older'] as const) : (['older', 'newer'] as const);
  const { direction, position }: RefundStart =
    cursor === null ? { direction: onward, position: null } : decodeCursor(cursor, 'ref_');
  const found = await findFrom(db, owner, filter, { direction, position }, limit + 1);
  const hasMore = found.length > limit;
  const kept = found.slice(0, limit);
  const isOnward = direction === onward;
  if (!isOnward) kept.reverse();
  const [first, last] = [kept.at(0), kept.at(-1)];
  const cursorAt = (to: Cursor['direction'], at: Position | undefined) =>
    at === undefined ? null : encodeCursor({ direction: to, position: at });
  return {
    refunds: await loadRefunds(db, kept),
    next: hasMore || !isOnward ? cursorAt(onward, last) : null,
    previous: (isOnward ? position !== null : hasMore) ? cursorAt(backward, first) : null,
  };
}

/**
 * The largest of the newest refunds that match a filter of one currency. No index has this order, so all `among` which it looks
 * are read and sorted.
 */
export async function findLargest(
  db: Database,
  owner: RefundOwner,
  filter: RefundFilter,
  { among, limit }: { among: number; limit: number },
): Promise<RefundWithWork[]> {
  const largest = await db.$queryRaw<Position[]>`
    SELECT id, created_at AS "createdAt" FROM (
      SELECT id, created_at, amount FROM refund WHERE ${conditionOf(owner, filter)}
      ORDER BY created_at DESC, id DESC LIMIT ${among}) AS newest
    ORDER BY amount DESC, created_at DESC, id DESC LIMIT ${limit}`;
  return await loadRefunds(db, largest);
}

/** A count up to a cap. */
export interface CappedCount {
  count: number;
  /** True when there are more than `count`. */
  atLeast: boolean;
}

/** Counts the refunds that match, for each of several filters in one statement, and stops at the cap. */
export async function countRefunds(
  db: Database,
  owner: RefundOwner,
  filters: readonly RefundFilter[],
  cap: number,
): Promise<CappedCount[]> {
  // Without the order of the list, the planner may read the table for a filter that many refunds match.
  const each = filters.map(
    (filter) => Prisma.sql`(SELECT count(*)::int FROM (
      SELECT FROM refund WHERE ${conditionOf(owner, filter)}
      ORDER BY created_at DESC, id DESC LIMIT ${cap + 1}) AS counted)`,
  );
  const [row] = await db.$queryRaw<{ counts: number[] }[]>`SELECT ARRAY[${Prisma.join(each)}] AS counts`;
  return (row?.counts ?? []).map((count) => ({ count: Math.min(count, cap), atLeast: count > cap }));
}

/** The positions of the refunds from a start, in its direction. `loadRefunds` loads them. */
export async function findFrom(
  db: Database,
  owner: RefundOwner,
  filter: RefundFilter,
  { direction, position }: RefundStart,
  limit: number,
): Promise<Position[]> {
  const [beyond, order] =
    direction === 'newer'
      ? ([Prisma.sql`>`, Prisma.sql`ASC`] as const)
      : ([Prisma.sql`<`, Prisma.sql`DESC`] as const);
  const from =
    position === null
      ? Prisma.empty
      : Prisma.sql`AND (created_at, id) ${beyond} (${position.createdAt}::timestamptz, ${position.id}::text)`;
  return await db.$queryRaw<Position[]>`
    SELECT id, created_at AS "createdAt" FROM refund WHERE ${conditionOf(owner, filter)} ${from}
    ORDER BY created_at ${order}, id ${order} LIMIT ${limit}`;
}

/** The refunds at these positions, in their order; of any owner. */
export async function loadRefunds(
  db: Database,
  positions: readonly Pick<Position, 'id'>[],
): Promise<RefundWithWork[]> {
  if (positions.length === 0) return [];
  const ids = positions.map(({ id }) => id);
  const found = await db.refund.findMany({ where: { id: { in: ids } }, include: { work: true } });
  const byId = new Map(found.map((refund) => [refund.id, refund]));
  return ids.flatMap((id) => byId.get(id) ?? []);
}

/** A page begins after a position, or with the newest or the oldest refund: then the position is null. */
type RefundStart = Pick<Cursor, 'direction'> & { position: Position | null };

/** The start of a list, the newest first. */
export const fromNewest: RefundStart = { direction: 'older', position: null };
