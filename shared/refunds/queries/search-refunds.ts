import { type Database, Prisma } from '../../platform/database.ts';
import { ServiceError } from '../../platform/errors.ts';
import type { RefundOwner, RefundWithWork } from '../model/refund.ts';
import { decodeCursor, encodeCursor, type RefundCursor, type RefundPosition } from './refund-cursor.ts';
import { conditionOf, type RefundFilter } from './refund-filter.ts';

/** Refunds that a page shows at most. */
const longestPage = 100;

/** A page of refunds, newest first; `next` leads to older ones, `previous` to newer ones, null where there are none. */
export interface RefundPage {
  refunds: RefundWithWork[];
  next: string | null;
  previous: string | null;
}

/**
 * A page of an organization's refunds in one environment. It costs the same wherever it is in the list.
 * @param page `cursor` from an earlier page of the same filter, null for the first one; `limit` from 1 to 100.
 * @throws ServiceError validation_error for a malformed cursor, a limit out of bounds, or a filter that cannot be meant.
 */
export async function searchRefunds(
  db: Database,
  owner: RefundOwner,
  filter: RefundFilter,
  page: { cursor: string | null; limit: number },
): Promise<RefundPage> {
  const { limit } = page;
  if (!Number.isInteger(limit) || limit < 1 || limit > longestPage) {
    throw new ServiceError('validation_error', `limit: must be a whole number from 1 to ${longestPage}.`);
  }
  const cursor = page.cursor === null ? null : decodeCursor(page.cursor);
  const found = await findFrom(db, owner, filter, cursor, limit + 1);
  const goesOn = found.length > limit;
  const kept = found.slice(0, limit);
  if (cursor?.direction === 'newer') kept.reverse();
  const [first, last] = [kept.at(0), kept.at(-1)];
  const hasNewer = cursor?.direction === 'newer' ? goesOn : cursor !== null;
  const hasOlder = cursor?.direction === 'newer' || goesOn;
  return {
    refunds: await loadRefunds(db, owner, kept),
    next: hasOlder && last !== undefined ? encodeCursor({ direction: 'older', position: last }) : null,
    previous: hasNewer && first !== undefined ? encodeCursor({ direction: 'newer', position: first }) : null,
  };
}

/** How many there are, up to a cap. */
export interface CappedCount {
  count: number;
  /** True when there are more, so that `count` has to be read as "at least". */
  atLeast: boolean;
}

/**
 * Counts the refunds of a filter, and stops at the cap: the cost of a long list is that of its beginning.
 * @throws ServiceError validation_error for a filter that cannot be meant.
 */
export async function countRefunds(
  db: Database,
  owner: RefundOwner,
  filter: RefundFilter,
  cap: number,
): Promise<CappedCount> {
  // In the order of the list, without which the planner is tempted to read the table for a filter that many refunds pass.
  const [row] = await db.$queryRaw<{ count: number }[]>`
    SELECT count(*)::int AS count FROM (
      SELECT FROM refund WHERE ${conditionOf(owner, filter)}
      ORDER BY created_at DESC, id DESC LIMIT ${cap + 1}) AS counted`;
  return capped(row?.count ?? 0, cap);
}

/** What a count that stopped one beyond the cap says. */
function capped(counted: number, cap: number): CappedCount {
  return { count: Math.min(counted, cap), atLeast: counted > cap };
}

/**
 * The places of the refunds that follow a cursor, in its direction; from the newest without one. Only columns of the index
 * are read here, so that refunds which do not match are never fetched; those that do are loaded by `loadRefunds`.
 */
export async function findFrom(
  db: Database,
  owner: RefundOwner,
  filter: RefundFilter,
  cursor: RefundCursor | null,
  limit: number,
): Promise<RefundPosition[]> {
  const condition = conditionOf(owner, filter);
  if (cursor?.direction === 'newer') {
    return await db.$queryRaw<RefundPosition[]>`
      SELECT id, created_at AS "createdAt" FROM refund WHERE ${condition} AND (created_at, id) > ${placeSql(cursor)}
      ORDER BY created_at, id LIMIT ${limit}`;
  }
  const from = cursor === null ? Prisma.empty : Prisma.sql`AND (created_at, id) < ${placeSql(cursor)}`;
  return await db.$queryRaw<RefundPosition[]>`
    SELECT id, created_at AS "createdAt" FROM refund WHERE ${condition} ${from}
    ORDER BY created_at DESC, id DESC LIMIT ${limit}`;
}

function placeSql({ position: { createdAt, id } }: RefundCursor): Prisma.Sql {
  return Prisma.sql`(${createdAt}::timestamptz, ${id}::text)`;
}

/** The refunds at these places, newest first. */
export async function loadRefunds(
  db: Database,
  { organizationId, environment }: RefundOwner,
  positions: readonly RefundPosition[],
): Promise<RefundWithWork[]> {
  if (positions.length === 0) return [];
  return await db.refund.findMany({
    where: { organizationId, environment, id: { in: positions.map(({ id }) => id) } },
    orderBy: [{ createdAt: 'desc' }, { id: 'desc' }],
    include: { work: true },
  });
}
