import type { Refund } from '../../shared/db.ts';
import type { Dependencies } from '../../shared/dependencies.ts';
import { cancelUnsent } from '../../shared/refunds/cancel-unsent.ts';
import { type StepResult, worker } from './step.ts';

/** The client wants it back, and it surely is not at the processor, which is not called. */
export async function cancelUnsentRefund(deps: Dependencies, refund: Refund): Promise<StepResult> {
  await deps.db.$transaction((tx) => cancelUnsent(tx, deps.clock, refund, worker));
  return 'again';
}
