import type { Refund } from '../../platform/database.ts';
import type { BankReference } from '../../processors/contract/processor.ts';

/** When a refund arrives at the customer's bank, and what it is known by there. */
interface Arrival {
  /** An estimate: the last day, in UTC, on which the money usually arrives, as `YYYY-MM-DD`. */
  expectedBy: string;
  /** Null until the processor has said it. */
  reference: string | null;
  /** As the processor calls it, such as `acquirer_reference_number`; null without a reference, or where it does not say. */
  referenceType: string | null;
}

/** Banks usually post a refund to a card 5 to 10 business days after it was sent to them. The later end is used. */
const businessDays = 10;

/**
 * The arrival of a refund that its processor has accepted: counted from its completion, which is when it was sent to the bank, or from
 * its acceptance until then. Null for any other refund.
 */
export function arrivalOf({
  status,
  acceptedAt,
  completedAt,
  arrival,
}: Pick<Refund, 'status' | 'acceptedAt' | 'completedAt' | 'arrival'>): Arrival | null {
  const sentAt = completedAt ?? acceptedAt;
  if (sentAt === null || (status !== 'processing' && status !== 'completed')) return null;
  const { reference = null, referenceType = null } = (arrival ?? {}) as Partial<BankReference>;
  return { expectedBy: afterBusinessDays(sentAt, businessDays), reference, referenceType };
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
