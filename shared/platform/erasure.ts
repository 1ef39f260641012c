import { type DatabaseTransaction, isPermissionDenied } from './database.ts';
import { ServiceError } from './errors.ts';

/** Replaces text that was erased where the record would be incomplete without any. */
export const erasedText = '(erased)';

/** Erasures go through the audit log of whole organizations. */
export const erasureTimeoutMs = 120_000;

/** Lets this transaction rewrite the audit log and timelines, as far as its database role may. */
export async function announceErasure(tx: DatabaseTransaction): Promise<void> {
  await tx.$executeRaw`SELECT set_config('refunds.erasure', 'on', true)`;
}

/**
 * Runs an erasure.
 * @throws ServiceError insufficient_scope when the database role may not change the audit log, as the service's may not.
 */
export async function erasing<T>(erase: () => Promise<T>): Promise<T> {
  try {
    return await erase();
  } catch (error) {
    if (!isPermissionDenied(error)) throw error;
    const message =
      'This database role may not change the audit log and timelines. Set DATABASE_URL to that of the owner of the database, which also runs migrations. Nothing was changed.';
    throw new ServiceError('insufficient_scope', message, { cause: error });
  }
}
