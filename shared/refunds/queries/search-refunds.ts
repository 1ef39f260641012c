import { type Database, Prisma, type Refund } from '../../platform/database.ts';
import { ServiceError } from '../../platform/errors.ts';
import type { RefundOwner, RefundWithWork } from '../model/refund.ts';
import { conditionOf, type RefundFilter } from './refund-filter.ts';

/** The most refunds of a page. */
const longestPage = 100;

/** A page of refunds, newest first. `next` is the cursor of older ones, `previous` of newer ones; null where there are none. */
export interface RefundPage {
  refunds: RefundWithWork[];
  next: string | null;
  previous: string | null;
}

/**
 * A page of refunds. It costs the same anywhere in the list.
 * @param page `cursor` from an earlier page of the same filter, null for the first one; `limit` from 1 to 100.
 * @throws ServiceError validation_error for an invalid cursor, limit or filter.
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
    refunds: await loadRefunds(db, kept),
    next: hasOlder && last !== undefined ? encodeCursor({ direction: 'older', position: last }) : null,
    previous: hasNewer && first !== undefined ? encodeCursor({ direction: 'newer', position: first }) : null,
  };
}

/** A count up to a cap. */
export interface CappedCount {
  count: number;
  /** True when there are more than `count`. */
  atLeast: boolean;
}

/**
 * Counts matching refunds and stops at the cap.
 * @throws ServiceError validation_error for an invalid filter.
 */
export async function countRefunds(
  db: Database,
  owner: RefundOwner,
  filter: RefundFilter,
  cap: number,
): Promise<CappedCount> {
  // Without the order of the list, the planner may read the table for a filter that many refunds match.
  const [row] = await db.$queryRaw<{ count: number }[]>`
    SELECT count(*)::int AS count FROM (
      SELECT FROM refund WHERE ${conditionOf(owner, filter)}
      ORDER BY created_at DESC, id DESC LIMIT ${cap + 1}) AS counted`;
  const counted = row?.count ?? 0;
  return { count: Math.min(counted, cap), atLeast: counted > cap };
}

/** The positions of the refunds after a cursor, in its direction; without a cursor, from the newest. `loadRefunds` loads them. */
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

/** The refunds at these positions, newest first. */
export async function loadRefunds(
  db: Database,
  positions: readonly RefundPosition[],
): Promise<RefundWithWork[]> {
  if (positions.length === 0) return [];
  return await db.refund.findMany({
    where: { id: { in: positions.map(({ id }) => id) } },
    orderBy: [{ createdAt: 'desc' }, { id: 'desc' }],
    include: { work: true },
  });
}

/** The position of a refund in the list. It never changes. */
export type RefundPosition = Pick<Refund, 'createdAt' | 'id'>;

/** The start of a page, exclusive, and its direction. */
export interface RefundCursor {
  direction: 'older' | 'newer';
  position: RefundPosition;
}

const shape = /^(older|newer)\.(\d{1,14})\.(ref_[a-z0-9]{1,64})$/;

/**
 * A cursor as text for a URL. It holds only a position: the owner of the refunds is never taken from it.
 */
export function encodeCursor({ direction, position: { createdAt, id } }: RefundCursor): string {
  return Buffer.from(`${direction}.${createdAt.getTime()}.${id}`).toString('base64url');
}

/** @throws ServiceError validation_error for an invalid cursor. */
function decodeCursor(text: string): RefundCursor {
  const [, direction, time, id] = shape.exec(Buffer.from(text, 'base64url').toString()) ?? [];
  if ((direction === 'older' || direction === 'newer') && id !== undefined) {
    const cursor: RefundCursor = { direction, position: { createdAt: new Date(Number(time)), id } };
    // Decoding ignores invalid characters; a position has only one valid text.
    if (encodeCursor(cursor) === text) return cursor;
  }
  throw new ServiceError('validation_error', 'cursor: invalid. Start again without it.');
}
