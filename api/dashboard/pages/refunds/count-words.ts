import type { CappedCount } from '../../../../shared/refunds/search-refunds.ts';

/** Where counting the refunds of a list ends. */
export const countCap = 10_000;

/** A count that ends at its cap, in words: `1 refund`, `more than 10,000 refunds`. */
export function countWords({ count, atLeast }: CappedCount): string {
  const number = numberWords(count);
  return `${atLeast ? `more than ${number}` : number} ${count === 1 ? 'refund' : 'refunds'}`;
}

/** A number as people write it: `12,345`. */
export function numberWords(count: number): string {
  return count.toLocaleString('en');
}
