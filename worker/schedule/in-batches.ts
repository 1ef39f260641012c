/** Rows that one statement changes, so that none of them takes long. */
export const batchSize = 1_000;

/**
 * Repeats a statement until nothing is left for it.
 * @param changeBatch changes up to `batchSize` rows, and answers how many it has changed.
 */
export async function inBatches(changeBatch: () => Promise<number>): Promise<void> {
  for (;;) if ((await changeBatch()) < batchSize) return;
}
