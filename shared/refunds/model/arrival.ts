import type { Refund } from '../../platform/database.ts';
import type { RefundArrival } from '../../processors/contract/processor.ts';
import { isWaitAtProcessor, waitsForCustomer } from './waiting.ts';

/** When a refund arrives at the customer's bank, and what it is known by there. */
export interface Arrival {
  /** `reversal`: the refund is taken off the original charge on the customer's statement, and no credit follows. */
  kind: 'credit' | 'reversal';
  /**
   * An estimate: the last day, in UTC, on which a credit usually arrives, as `YYYY-MM-DD`; null for a reversal, and while the processor
   * keeps the money.
   */
  expectedBy: string | null;
  /** Null until the processor has said it. */
  reference: string | null;
  /** As the processor calls it, such as `acquirer_reference_number`; null without a reference, or where it does not say. */
  referenceType: string | null;
}

/** Banks usually post a refund to a card 5 to 10 business days after it was sent to them. The later end is used. */
export const refundBusinessDays = 10;

/**
 * The arrival of a refund that its processor has accepted: counted from its completion, which is when it was sent to the bank, or from
 * its acceptance until then. Null for any other refund.
 * @param waitingFor what the refund waits for, of its work; null without.
 */
export function arrivalOf(
  refund: Pick<Refund, 'status' | 'processorStatus' | 'acceptedAt' | 'completedAt' | 'arrival'>,
  waitingFor: string | null,
): Arrival | null {
  const { status, acceptedAt, completedAt, arrival } = refund;
  const sentAt = completedAt ?? acceptedAt;
  if (sentAt === null || (status !== 'processing' && status !== 'completed')) return null;
  const { kind, reference = null, referenceType = null } = (arrival ?? {}) as Partial<RefundArrival>;
  const isWaiting =
    waitsForCustomer(refund, waitingFor) || (status === 'processing' && isWaitAtProcessor(waitingFor));
  const expectedBy = kind === 'reversal' || isWaiting ? null : afterBusinessDays(sentAt, refundBusinessDays);
  return { kind: kind ?? 'credit', expectedBy, reference, referenceType };
}

/** The day that is so many business days after a time, in UTC. Holidays differ between banks and are not counted. */
export function afterBusinessDays(time: Date, count: number): string {
  const day = new Date(time);
  for (let left = count; left > 0; ) {
    day.setUTCDate(day.getUTCDate() + 1);
    const isWeekend = day.getUTCDay() === 0 || day.getUTCDay() === 6;
    if (!isWeekend) left -= 1;
  }
  return day.toISOString().slice(0, 10);
}
