import { type Database, Prisma, type Refund } from '../../platform/database.ts';
import { ServiceError } from '../../platform/errors.ts';
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
    cursor === null ? { direction: onward, position: null } : decodeCursor(cursor);
  const found = await findFrom(db, owner, filter, { direction, position }, limit + 1);
  const hasMore = found.length > limit;
  const kept = found.slice(0, limit);
  const isOnward = direction === onward;
  if (!isOnward) kept.reverse();
  const [first, last] = [kept.at(0), kept.at(-1)];
  const cursorAt = (to: RefundCursor['direction'], at: RefundPosition | undefined) =>
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
  const largest = await db.$queryRaw<RefundPosition[]>`
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
): Promise<RefundPosition[]> {
  const [beyond, order] =
    direction === 'newer'
      ? ([Prisma.sql`>`, Prisma.sql`ASC`] as const)
      : ([Prisma.sql`<`, Prisma.sql`DESC`] as const);
  const from =
    position === null
      ? Prisma.empty
      : Prisma.sql`AND (created_at, id) ${beyond} (${position.createdAt}::timestamptz, ${position.id}::text)`;
  return await db.$queryRaw<RefundPosition[]>`
    SELECT id, created_at AS "createdAt" FROM refund WHERE ${conditionOf(owner, filter)} ${from}
    ORDER BY created_at ${order}, id ${order} LIMIT ${limit}`;
}

/** The refunds at these positions, in their order. */
export async function loadRefunds(
  db: Database,
  positions: readonly RefundPosition[],
): Promise<RefundWithWork[]> {
  if (positions.length === 0) return [];
  const ids = positions.map(({ id }) => id);
  const found = await db.refund.findMany({ where: { id: { in: ids } }, include: { work: true } });
  const byId = new Map(found.map((refund) => [refund.id, refund]));
  return ids.flatMap((id) => byId.get(id) ?? []);
}

/** The position of a refund in the list. It never changes. */
export type RefundPosition = Pick<Refund, 'createdAt' | 'id'>;

/** The start of a page, exclusive, and its direction. */
interface RefundCursor {
  direction: 'older' | 'newer';
  position: RefundPosition;
}

/** The same, also from the newest or the oldest refund: then the position is null. */
type RefundStart = Omit<RefundCursor, 'position'> & { position: RefundPosition | null };

/** The start of a list, the newest first. */
export const fromNewest: RefundStart = { direction: 'older', position: null };

const shape = /^(older|newer)\.(\d{1,14})\.(ref_[a-z0-9]{1,64})$/;

/** A cursor as text for a URL. It has only a position: the owner of the refunds is never taken from it. */
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
