import { ServiceError } from './errors.ts';

/** A place in a list that is ordered by time, and by id within a time. It never changes. */
export interface Position {
  createdAt: Date;
  id: string;
}

/** The start of a page, exclusive, and its direction. */
export interface Cursor {
  direction: 'older' | 'newer';
  position: Position;
}

const shape = /^(older|newer)\.(\d{1,14})\.([\x21-\x7e]{1,255})$/;

/** A cursor as text for a URL. It has only a position: the owner of the rows is never taken from it. */
export function encodeCursor({ direction, position: { createdAt, id } }: Cursor): string {
  return Buffer.from(`${direction}.${createdAt.getTime()}.${id}`).toString('base64url');
}

/**
 * @param prefix of the ids in the list.
 * @throws ServiceError validation_error for an invalid cursor.
 */
export function decodeCursor(text: string, prefix = ''): Cursor {
  const [, direction, time, id] = shape.exec(Buffer.from(text, 'base64url').toString()) ?? [];
  const createdAt = new Date(Number(time));
  const isTime = !Number.isNaN(createdAt.getTime()) && createdAt.getUTCFullYear() < 10_000;
  if ((direction === 'older' || direction === 'newer') && id?.startsWith(prefix) && isTime) {
    const cursor: Cursor = { direction, position: { createdAt, id } };
    // Decoding ignores invalid characters; a position has only one valid text.
    if (encodeCursor(cursor) === text) return cursor;
  }
  throw new ServiceError('validation_error', 'cursor: invalid. Start again without it.');
}

/**
 * A page of a list, the newest rows first. It costs the same anywhere in the list.
 * @param cursor from an earlier page; null for the first one.
 * @param find the rows that are older than a position, or the newest ones for null.
 * @returns `next`: the cursor of the page of older rows; null on the last one.
 * @throws ServiceError validation_error for an invalid cursor.
 */
export async function pageOf<Row>(
  { cursor, limit }: { cursor: string | null; limit: number },
  find: (before: Position | null, limit: number) => Promise<Row[]>,
  positionOf: (row: Row) => Position,
): Promise<{ rows: Row[]; next: string | null }> {
  const found = await find(cursor === null ? null : decodeCursor(cursor).position, limit + 1);
  const rows = found.slice(0, limit);
  const last = rows.at(-1);
  const isLast = last === undefined || found.length <= limit;
  return { rows, next: isLast ? null : encodeCursor({ direction: 'older', position: positionOf(last) }) };
}

/** The filter of Prisma for rows older than a position. The time uses the index; ids order rows of the same time. */
export function olderThan(before: Position | null) {
  if (before === null) return {};
  const { createdAt, id } = before;
  return { createdAt: { lte: createdAt }, NOT: { createdAt, id: { gte: id } } };
}
