import type { Dependencies } from '#shared/dependencies.ts';
import { advanceLeased, leaseBatch } from '#worker/schedule/advance-batches.ts';

/** Advances the batch that has been due for longest by one slice. @returns false when no batch is due. */
export async function advanceOneBatch(deps: Dependencies): Promise<boolean> {
  const batch = await leaseBatch(deps, []);
  if (batch !== null) await advanceLeased(deps, batch);
  return batch !== null;
}
