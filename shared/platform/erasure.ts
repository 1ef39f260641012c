import type { DatabaseTransaction } from './database.ts';

/** Replaces text that was erased where the record would be incomplete without any. */
export const erasedText = '(erased)';

/** How long one may take: it reads the audit log of whole organizations. */
export const erasureTimeoutMs = 120_000;

/** Lets this transaction rewrite the audit log and timelines, if its database role has the right to: that of the service has not. */
export async function announceErasure(tx: DatabaseTransaction): Promise<void> {
  await tx.$executeRaw`SELECT set_config('refunds.erasure', 'on', true)`;
}
