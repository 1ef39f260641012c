import type { ProcessorAccount } from '../db.ts';
import type { Dependencies } from '../dependencies.ts';
import type { LookupResult, ProcessorFailure, ReadResult } from '../processors/processor.ts';

/** How long an account rests when the processor asks for fewer requests and does not say for how long. */
const defaultThrottleMs = 1_000;

/** A processor's 429 slows its account down, not the other accounts and not the worker. */
export async function throttleAccount(
  deps: Dependencies,
  account: ProcessorAccount,
  retryAfterMs: number | null,
): Promise<void> {
  const restMs = Math.min(retryAfterMs ?? defaultThrottleMs, 60 * 60 * 1000);
  const until = new Date(deps.clock.now().getTime() + restMs);
  await deps.db.processorAccount.updateMany({
    where: { id: account.id, OR: [{ throttledUntil: null }, { throttledUntil: { lt: until } }] },
    data: { throttledUntil: until },
  });
}

/** Makes refused credentials visible on the account, unless they have been replaced meanwhile. */
export async function markMisconfigured(
  deps: Dependencies,
  account: ProcessorAccount,
  failure: ProcessorFailure,
): Promise<void> {
  deps.log.error({ accountId: account.id, failure }, 'the processor refuses the credentials of an account');
  await deps.db.processorAccount.updateMany({
    where: { id: account.id, updatedAt: account.updatedAt, misconfiguredAt: null },
    data: { misconfiguredAt: deps.clock.now() },
  });
}

/** Notes what a reading says of the account itself: that it is used too fast, or that its credentials are refused. */
export async function noteTrouble(
  deps: Dependencies,
  account: ProcessorAccount,
  answer: ReadResult<unknown> | LookupResult,
): Promise<void> {
  if (answer.kind === 'misconfigured') await markMisconfigured(deps, account, answer.failure);
  if (answer.kind === 'unavailable' && answer.rateLimited) {
    await throttleAccount(deps, account, answer.retryAfterMs);
  }
}

/** Takes the mark away as soon as the processor accepts the credentials again. */
export async function clearMisconfigured(deps: Dependencies, account: ProcessorAccount): Promise<void> {
  if (account.misconfiguredAt === null) return;
  await deps.db.processorAccount.updateMany({
    where: { id: account.id, updatedAt: account.updatedAt },
    data: { misconfiguredAt: null },
  });
}
