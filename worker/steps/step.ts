import type { ProcessorAccount, Refund } from '../../shared/db.ts';
import type { Dependencies } from '../../shared/dependencies.ts';
import type { Processor } from '../../shared/processors/processor.ts';

/** What a finding is recorded for: a refund, claimed or just loaded, and the account it goes through. */
export interface RecordContext {
  deps: Dependencies;
  refund: Refund;
  account: ProcessorAccount;
}

/** What a step works on: the same, with the account's processor. */
export interface StepContext extends RecordContext {
  processor: Processor;
}

/** `again`: there is news, and the next step may be due at once. `rest`: this job is done. */
export type StepResult = 'again' | 'rest';

/** The actor of everything that a worker writes. */
export const worker = 'worker';

/** A moment from now, in milliseconds. */
export function inFuture(deps: Dependencies, delayMs: number): Date {
  return new Date(deps.clock.now().getTime() + delayMs);
}
