import type { DatabaseTransaction } from '../platform/database.ts';

/** Replaces text that was erased where the record would be incomplete without any. */
export const erasedText = '(erased)';

/**
 * How long the transaction of an erasure may take, in milliseconds. It is less than the minute after which an export of the audit
 * log counts on all entries.
 */
export const erasureTimeoutMs = 45_000;

/**
 * Lets this transaction rewrite the audit log and timelines, if its database role has the right to: that of the service has not.
 * Waits for other erasures, so that two of the same rows cannot deadlock.
 */
export async function beginErasure(tx: DatabaseTransaction): Promise<void> {
  await tx.$executeRaw`
    SELECT set_config('refunds.erasure', 'on', true), pg_advisory_xact_lock(hashtextextended('erasure', 0))`;
}
