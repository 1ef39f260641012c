import type { Database } from '../../platform/database.ts';
import { ServiceError } from '../../platform/errors.ts';
import { isId } from '../../platform/ids.ts';
import { type AccountName, withoutCredentials } from './connections.ts';

/**
 * The account with this id, at this processor.
 * @throws ServiceError not_found for an id that is unknown, malformed or of an account elsewhere, all alike.
 */
export async function findAccount(db: Database, processor: string, id: string): Promise<AccountName> {
  const account = isId('acc', id)
    ? await db.processorAccount.findUnique({ where: { id }, omit: withoutCredentials })
    : null;
  if (account === null || account.processor !== processor) {
    throw new ServiceError('not_found', 'No such processor account.');
  }
  return account;
}
