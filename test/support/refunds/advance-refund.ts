import type { Dependencies } from '#shared/dependencies.ts';
import { advanceRefund as advanceClaimed } from '#worker/advance/advance-refund.ts';

/** Takes the steps of a refund that are due, as a worker does that claims it. Does nothing when it cannot be claimed. */
export async function advanceRefund(deps: Dependencies, refundId: string): Promise<void> {
  const claim = await deps.statements.claim(refundId);
  if (claim !== null) await advanceClaimed(deps, claim);
}
