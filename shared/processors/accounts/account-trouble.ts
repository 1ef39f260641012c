import type { Clock } from '../../platform/clock.ts';
import type { Database, ProcessorAccount } from '../../platform/database.ts';
import type { Logger } from '../../platform/log.ts';
import type { ProcessorFailure } from '../contract/processor.ts';

/** How long an account rests when the processor asks for fewer requests and does not say for how long. */
const defaultThrottleMs = 1_000;

/**
 * A processor's 429 slows its account down, not the other accounts and not the worker.
 * @returns until when the account is to be left alone.
 */
export async function throttleAccount(
  { db, clock }: { db: Database; clock: Clock },
  account: Pick<ProcessorAccount, 'id'>,
  retryAfterMs: number | null,
): Promise<Date> {
  const restMs = Math.min(retryAfterMs ?? defaultThrottleMs, 60 * 60 * 1000);
  const until = new Date(clock.now().getTime() + restMs);
  await db.processorAccount.updateMany({
    where: { id: account.id, OR: [{ throttledUntil: null }, { throttledUntil: { lt: until } }] },
    data: { throttledUntil: until },
  });
  return until;
}

/** Makes refused credentials visible on the account, unless they have been replaced meanwhile. */
export async function markMisconfigured(
  { db, clock, log }: { db: Database; clock: Clock; log: Logger },
  account: Pick<ProcessorAccount, 'id' | 'updatedAt'>,
  failure: ProcessorFailure,
): Promise<void> {
  log.error({ accountId: account.id, failure }, 'the processor refuses the credentials of an account');
  await db.processorAccount.updateMany({
    where: { id: account.id, updatedAt: account.updatedAt, misconfiguredAt: null },
    data: { misconfiguredAt: clock.now() },
  });
}

/** Takes the mark away as soon as the processor accepts the credentials again. */
export async function clearMisconfigured(
  { db }: { db: Database },
  account: Pick<ProcessorAccount, 'id' | 'updatedAt'>,
): Promise<void> {
  await db.processorAccount.updateMany({
    where: { id: account.id, updatedAt: account.updatedAt },
    data: { misconfiguredAt: null },
  });
}
