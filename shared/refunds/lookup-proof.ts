import type { Settings } from '../config.ts';
import type { Refund } from '../db.ts';
import { processorKind } from '../processors/registry.ts';
import { recordingMarginMs } from './lease.ts';

/** A processor that did reply may still carry out what it called an error; it is given this time. */
const answeredSettleDelayMs = 60_000;

/**
 * From when on a lookup that finds nothing proves that the last attempt was not applied: the attempt's end, plus the
 * time after which the processor's lookup is proof. In the database's time.
 */
export function lookupConclusiveAt(
  { PROCESSOR_TIMEOUT_MS, LOOKUP_SETTLE_DELAY_MS }: Settings,
  refund: Refund,
): Date {
  const { settleDelayMs } = processorKind(refund.processor);
  const proofMs = refund.attemptAnswered ? Math.max(settleDelayMs, answeredSettleDelayMs) : settleDelayMs;
  const sentAt = refund.lastSentAt ?? refund.createdAt;
  // An attempt whose worker died ended with its call's deadline at the latest, which counts from its claim.
  const latestEndMs = sentAt.getTime() + recordingMarginMs + PROCESSOR_TIMEOUT_MS;
  return new Date((refund.attemptEndedAt?.getTime() ?? latestEndMs) + (LOOKUP_SETTLE_DELAY_MS ?? proofMs));
}
