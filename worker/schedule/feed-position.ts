import type { Dependencies } from '#shared/dependencies.ts';
import { readRecovery } from '#shared/refunds/lifecycle/recovery.ts';

/** How often the position in the event feed is kept outside of the database. */
export const feedPositionMs = 1_000;

/** Keeps the position that the event feed has reached, unless a recovery is required. */
export async function keepFeedPosition(
  deps: Pick<Dependencies, 'reads' | 'positionMarks' | 'log'>,
): Promise<void> {
  const { generation, position, requiredSince } = await readRecovery(deps.reads);
  if (requiredSince === null) await deps.positionMarks.keep({ generation, position });
}
