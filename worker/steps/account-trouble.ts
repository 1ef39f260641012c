import type { ProcessorAccount } from '../../shared/db.ts';
import type { Dependencies } from '../../shared/dependencies.ts';
import type { ProcessorFailure } from '../../shared/processors/processor.ts';
import { inFuture } from './step.ts';

/** How long an account rests when the processor asks for fewer requests and does not say for how long. */
const defaultThrottleMs = 1_000;

/** A processor's 429 slows its account down, not the other accounts and not the worker. */
export async function throttleAccount(
  deps: Dependencies,
  account: ProcessorAccount,
  retryAfterMs: number | null,
): Promise<void> {
  const until = inFuture(deps, Math.min(retryAfterMs ?? defaultThrottleMs, 60 * 60 * 1000));
  await deps.db.processorAccount.updateMany({
    where: { id: account.id, OR: [{ throttledUntil: null }, { throttledUntil: { lt: until } }] },
    data: { throttledUntil: until },
  });
}

/** Makes refused credentials visible on the account. */
export async function markMisconfigured(
  deps: Dependencies,
  account: ProcessorAccount,
  failure: ProcessorFailure,
): Promise<void> {
  deps.log.error({ accountId: account.id, failure }, 'the processor refuses the credentials of an account');
  await deps.db.processorAccount.updateMany({
    where: { id: account.id, misconfiguredAt: null },
    data: { misconfiguredAt: deps.clock.now() },
  });
}

/** Takes the mark away as soon as the processor accepts the credentials again. */
export async function clearMisconfigured(deps: Dependencies, account: ProcessorAccount): Promise<void> {
  if (account.misconfiguredAt === null) return;
  await deps.db.processorAccount.updateMany({ where: { id: account.id }, data: { misconfiguredAt: null } });
}
