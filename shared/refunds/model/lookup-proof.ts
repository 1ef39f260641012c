import type { Settings } from '../../platform/config.ts';
import type { Refund, RefundWork } from '../../platform/database.ts';
import { processorKind } from '../../processors/registry.ts';

/** The time for recording an answer after the deadline of the call. */
const recordingMarginMs = 10_000;

/** The length of a lease: longer than any call to a processor can last. */
export function leaseMs({ PROCESSOR_TIMEOUT_MS }: Pick<Settings, 'PROCESSOR_TIMEOUT_MS'>): number {
  return PROCESSOR_TIMEOUT_MS + recordingMarginMs;
}

/** The least settle delay after a reply with an error, because the processor may still apply the request. */
const repliedSettleDelayMs = 60_000;

/**
 * From when on a lookup that finds nothing proves that the last attempt was not applied: the time when its outcome became
 * unknown, plus the processor's settle delay, which is longer after an error reply. Without a recorded outcome the worker was
 * killed, and the attempt ended when its lease did, which began with it. In the database's time.
 */
export function lookupConclusiveAt(
  settings: Pick<Settings, 'PROCESSOR_TIMEOUT_MS' | 'LOOKUP_SETTLE_DELAY_MS'>,
  { processor }: Pick<Refund, 'processor'>,
  {
    unknownSince,
    attemptStartedAt,
    isKeySpent,
  }: Pick<RefundWork, 'unknownSince' | 'attemptStartedAt' | 'isKeySpent'>,
): Date {
  const { settleDelayMs } = processorKind(processor);
  // A reply has spent the key.
  const proofMs = isKeySpent ? Math.max(settleDelayMs, repliedSettleDelayMs) : settleDelayMs;
  const endMs = Math.max(
    unknownSince?.getTime() ?? 0,
    attemptStartedAt === null ? 0 : attemptStartedAt.getTime() + leaseMs(settings),
  );
  return new Date(endMs + (settings.LOOKUP_SETTLE_DELAY_MS ?? proofMs));
}
