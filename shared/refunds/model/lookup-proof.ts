import type { Settings } from '../../platform/config.ts';
import type { Refund, RefundAttempt, RefundWork } from '../../platform/database.ts';
import { processorKind } from '../../processors/registry.ts';

/** Time that a worker keeps for recording what the processor said, after the call's own deadline. */
export const recordingMarginMs = 10_000;

/** A processor that did reply may still carry out what it called an error; it is given this time. */
const repliedSettleDelayMs = 60_000;

/**
 * From when on a lookup that finds nothing proves that the last attempt was not applied: the attempt's end, or when doubt
 * was last cast on it, plus the time after which the processor's lookup is proof. In the database's time.
 */
export function lookupConclusiveAt(
  settings: Pick<Settings, 'PROCESSOR_TIMEOUT_MS' | 'LOOKUP_SETTLE_DELAY_MS'>,
  { processor }: Pick<Refund, 'processor'>,
  { unknownSince }: Pick<RefundWork, 'unknownSince'>,
  attempt: Pick<RefundAttempt, 'startedAt' | 'endedAt' | 'keySpent'> | null,
): Date {
  const { settleDelayMs } = processorKind(processor);
  const proofMs = attempt?.keySpent ? Math.max(settleDelayMs, repliedSettleDelayMs) : settleDelayMs;
  const endMs = Math.max(
    unknownSince?.getTime() ?? 0,
    attempt === null ? 0 : attemptEndMs(settings, attempt),
  );
  return new Date(endMs + (settings.LOOKUP_SETTLE_DELAY_MS ?? proofMs));
}

/** An attempt whose worker died ended with its call's deadline at the latest, which counts from its claim. */
function attemptEndMs(
  { PROCESSOR_TIMEOUT_MS }: Pick<Settings, 'PROCESSOR_TIMEOUT_MS'>,
  { startedAt, endedAt }: Pick<RefundAttempt, 'startedAt' | 'endedAt'>,
): number {
  return endedAt?.getTime() ?? startedAt.getTime() + PROCESSOR_TIMEOUT_MS + recordingMarginMs;
}
