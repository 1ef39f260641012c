import type { CappedCount } from '../../../../shared/refunds/queries/search-refunds.ts';
import { inWhole } from '../../layout/numbers.ts';

/** Where counting the refunds of a list ends. */
export const countCap = 10_000;

/** A count that ends at its cap, in words: `1 refund`, `more than 10,000 refunds`. */
export function countWords({ count, atLeast }: CappedCount): string {
  const number = inWhole(count);
  return `${atLeast ? `more than ${number}` : number} ${count === 1 ? 'refund' : 'refunds'}`;
}
