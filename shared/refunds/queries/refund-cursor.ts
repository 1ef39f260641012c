import type { Refund } from '../../platform/database.ts';
import { ServiceError } from '../../platform/errors.ts';

/** Where a refund stands in the list: neither ever changes. */
export type RefundPosition = Pick<Refund, 'createdAt' | 'id'>;

/** Where a page begins, and in which direction it goes on from there; the refund there is not a part of it. */
export interface RefundCursor {
  direction: 'older' | 'newer';
  position: RefundPosition;
}

const shape = /^(older|newer)\.(\d{1,14})\.(ref_[a-z0-9]{1,64})$/;

/**
 * A cursor as text for a URL. It holds a place in time and nothing else: whose refunds are listed from there is never
 * taken from it.
 */
export function encodeCursor({ direction, position: { createdAt, id } }: RefundCursor): string {
  return Buffer.from(`${direction}.${createdAt.getTime()}.${id}`).toString('base64url');
}

/** @throws ServiceError validation_error for a text that is no cursor. */
export function decodeCursor(text: string): RefundCursor {
  const [, direction, time, id] = shape.exec(Buffer.from(text, 'base64url').toString()) ?? [];
  if ((direction === 'older' || direction === 'newer') && id !== undefined) {
    const cursor: RefundCursor = { direction, position: { createdAt: new Date(Number(time)), id } };
    // Decoding overlooks letters that do not belong, and one place has one name only.
    if (encodeCursor(cursor) === text) return cursor;
  }
  throw new ServiceError('validation_error', 'cursor: unknown; begin again without it.');
}
