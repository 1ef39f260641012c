import { markMisconfigured, throttleAccount } from '../../shared/accounts/account-trouble.ts';
import type { ProcessorFailure } from '../../shared/processors/processor.ts';
import type { RefundChanges } from '../../shared/refunds/transition.ts';
import { accountUnusable, askPerson, type Finding, failed, record, retryPause } from './record.ts';
import { inFuture, type RecordContext, type StepResult } from './step.ts';

/** A call that surely moved nothing and may be made again later. */
export interface Unavailable {
  failure: ProcessorFailure;
  retryAfterMs: number | null;
  rateLimited: boolean;
}

/**
 * The processor could not be worked with: tried again, until the refund's horizon. Only for a refund that surely is
 * not at the processor.
 * @param changes what the answer proves besides.
 */
export async function recordUnavailable(
  context: RecordContext,
  { failure, retryAfterMs, rateLimited }: Unavailable,
  changes: RefundChanges = {},
): Promise<StepResult> {
  const { deps, refund, account } = context;
  if (isPastHorizon(context)) return await record(context, [givenUp(failure.message, changes)]);
  const fruitlessCount = refund.fruitlessCount + 1;
  const nextActionAt = inFuture(deps, retryPause(deps, fruitlessCount, retryAfterMs));
  const retryingSince = refund.retryingSince ?? deps.clock.now();
  const result = await record(context, [
    {
      to: 'processing',
      type: 'attempt.unavailable',
      changes: { ...changes, fruitlessCount, nextActionAt, retryingSince },
      detail: { ...failure },
    },
  ]);
  if (rateLimited) await throttleAccount(deps, account, retryAfterMs);
  return result;
}

/** True when a refund that is not at the processor has been tried for long enough, counted from the first trouble. */
export function isPastHorizon({ deps, refund }: RecordContext): boolean {
  if (refund.retryingSince === null) return false;
  return deps.clock.now().getTime() - refund.retryingSince.getTime() >= deps.settings.UNAVAILABLE_HORIZON_MS;
}

/** The end of a refund that could not be brought to the processor in time. */
export function givenUp(lastWords: string, changes: RefundChanges = {}): Finding {
  const message = `The processor could not be reached in time; it last said: ${lastWords}`;
  return failed({ code: 'processor_unavailable', message }, changes);
}

/** Nothing will move until somebody mends the account; the refund is kept, flagged and tried again slowly. */
export async function recordMisconfigured(
  context: RecordContext,
  failure: ProcessorFailure,
  changes: RefundChanges = {},
): Promise<StepResult> {
  const result = await askPerson(context, 'attempt.misconfigured', accountUnusable(failure), changes);
  await markMisconfigured(context.deps, context.account, failure);
  return result;
}
