import { type Database, type DatabaseTransaction, isDatabaseUnavailable } from './db.ts';
import { ServiceError } from './errors.ts';

/**
 * Runs a database transaction for a client who waits. A connection that breaks during the commit leaves it open
 * whether anything was changed, and to answer that nothing was would be a guess.
 * @throws ServiceError internal_error in that case; everything else as it is thrown.
 */
export async function commitKnowingly<T>(
  db: Database,
  work: (tx: DatabaseTransaction) => Promise<T>,
): Promise<T> {
  let committing = false;
  try {
    return await db.$transaction(async (tx) => {
      const result = await work(tx);
      committing = true;
      return result;
    });
  } catch (error) {
    if (!committing || !isDatabaseUnavailable(error)) throw error;
    throw new ServiceError(
      'internal_error',
      'It is not known whether this was recorded. Repeat with the same Idempotency-Key, or get or list refunds first.',
      { cause: error },
    );
  }
}
