import type { Dependencies } from '../../shared/dependencies.ts';
import type { Processor } from '../../shared/processors/contract/processor.ts';
import type { Claim } from '../../shared/refunds/lifecycle/claim.ts';
import { type Finding, recordFinding } from '../../shared/refunds/lifecycle/record.ts';
import type { OutcomeContext } from './outcomes.ts';

/** What a step works on: a refund under its worker's lease, and the processor of its account. */
export interface StepContext extends OutcomeContext {
  deps: Dependencies;
  claim: Claim;
  processor: Processor;
}

/** `again`: the next step is due at once. `rest`: this job is done. */
export type StepResult = 'again' | 'rest';

/** Records what a step has found out. */
export async function record(
  { deps, claim }: Pick<StepContext, 'deps' | 'claim'>,
  finding: Finding,
): Promise<StepResult> {
  const recording = await recordFinding(deps, claim, finding);
  if (recording === 'news') return 'again';
  return recording === 'recorded' && finding.dueInMs === 0 ? 'again' : 'rest';
}
