import type { Database, ProcessorAccount } from '../db.ts';
import { ServiceError } from '../errors.ts';
import { isId } from '../ids.ts';

/**
 * The account with this id, at this processor.
 * @throws ServiceError not_found for an id that is unknown, malformed or of an account elsewhere, all alike.
 */
export async function findAccount(db: Database, processor: string, id: string): Promise<ProcessorAccount> {
  const account = isId('acc', id) ? await db.processorAccount.findUnique({ where: { id } }) : null;
  if (account === null || account.processor !== processor) {
    throw new ServiceError('not_found', 'No such processor account.');
  }
  return account;
}
