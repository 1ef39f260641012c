import type { CappedCount } from '../refunds/queries/search-refunds.ts';

/** What waits for a person, of one kind: how much, since when the oldest waits, and the items that have waited longest. */
export interface Waiting<Item> extends CappedCount {
  oldest: Date | null;
  items: Item[];
}

/** Items that are shown of each kind. */
export const itemsShown = 5;
