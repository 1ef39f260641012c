import type { Refund } from '../../platform/database.ts';
import type { RefundArrival } from '../../processors/contract/processor.ts';

/** When a refund arrives at the customer's bank, and what it is known by there. */
export interface Arrival {
  /** `reversal`: the charge disappears from the customer's statement, and no credit follows. */
  kind: 'credit' | 'reversal';
  /** An estimate: the last day, in UTC, on which a credit usually arrives, as `YYYY-MM-DD`; null for a reversal. */
  expectedBy: string | null;
  /** Null until the processor has said it. */
  reference: string | null;
  /** As the processor calls it, such as `acquirer_reference_number`; null without a reference, or where it does not say. */
  referenceType: string | null;
}

/** Banks usually post a refund to a card 5 to 10 business days after it was sent to them. The later end is used. */
const businessDays = 10;

/** True while the customer has to act, for example enter a bank account at Stripe. */
export function waitsForCustomer({
  status,
  processorStatus,
}: Pick<Refund, 'status' | 'processorStatus'>): boolean {
  return status === 'processing' && processorStatus === 'requires_action';
}

/**
 * The arrival of a refund that its processor has accepted: counted from its completion, which is when it was sent to the bank, or from
 * its acceptance until then. Null for any other refund, and while it waits for the customer.
 */
export function arrivalOf(
  refund: Pick<Refund, 'status' | 'processorStatus' | 'acceptedAt' | 'completedAt' | 'arrival'>,
): Arrival | null {
  const { status, acceptedAt, completedAt, arrival } = refund;
  const sentAt = completedAt ?? acceptedAt;
  if (sentAt === null || (status !== 'processing' && status !== 'completed') || waitsForCustomer(refund))
    return null;
  const { kind, reference = null, referenceType = null } = (arrival ?? {}) as Partial<RefundArrival>;
  const expectedBy = kind === 'reversal' ? null : afterBusinessDays(sentAt, businessDays);
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
