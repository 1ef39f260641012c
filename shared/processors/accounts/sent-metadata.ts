import { isDeepStrictEqual } from 'node:util';
import { writeAudit } from '../../audit/audit-log.ts';
import type { DatabaseTransaction, ProcessorAccount, Stores } from '../../platform/database.ts';
import { ServiceError } from '../../platform/errors.ts';
import { changeOrganization } from '../../platform/organization.ts';
import { nameKeys } from '../contract/processor.ts';
import { processorKind, processorNames } from '../registry.ts';
import type { AccountKey } from './connections.ts';

/** Keys that an account may send. */
export const maxSentKeys = 5;

/** Without the brackets that processors write nested parameters with. */
const keyPattern = /^[^[\]\p{C}]{1,40}$/u;

/**
 * Sets which keys of a refund's metadata are sent to the processor with it, from the next first attempt on. An unchanged setting is not
 * written.
 * @param request.keys none to send no metadata; repeated ones count once.
 * @returns the keys as stored.
 * @throws ServiceError validation_error for keys that cannot be sent, and for a processor that keeps no metadata; not_found for an
 * account that is not set up.
 */
export async function setSentMetadata(
  deps: Stores,
  request: AccountKey & { keys: readonly string[]; actor: string },
): Promise<string[]> {
  const { organizationId, environment, processor, actor } = request;
  const keys = [...new Set(request.keys)];
  const problem = problemOf(processor, keys);
  if (problem !== null) throw new ServiceError('validation_error', problem);
  return await changeOrganization(deps.db, organizationId, async (tx) => {
    const { id, sentMetadataKeys: from } = await findSentMetadata(tx, {
      organizationId,
      environment,
      processor,
    });
    if (isDeepStrictEqual(from, keys)) return keys;
    await tx.processorAccount.update({ where: { id }, data: { sentMetadataKeys: keys } });
    const detail = { environment, processor, from, to: keys };
    const entry = { organizationId, actor, action: 'account.sent_metadata_set', target: id, detail } as const;
    await writeAudit(tx, entry, deps.clock.now());
    return keys;
  });
}

/** @throws ServiceError not_found for an account that is not set up. */
export async function findSentMetadata(
  db: DatabaseTransaction,
  key: AccountKey,
): Promise<Pick<ProcessorAccount, 'id' | 'sentMetadataKeys'>> {
  const account = await db.processorAccount.findUnique({
    where: { organizationId_environment_processor: key },
    select: { id: true, sentMetadataKeys: true },
  });
  if (account === null) throw new ServiceError('not_found', 'This account is not set up.');
  return account;
}

/** What is wrong with the setting; null when nothing is. */
function problemOf(processor: string, keys: readonly string[]): string | null {
  if (!processorNames.includes(processor)) return `processor: must be one of: ${processorNames.join(', ')}.`;
  const { displayName, keepsMetadata } = processorKind(processor);
  if (!keepsMetadata) return `processor: ${displayName} keeps no metadata with a refund.`;
  if (keys.length > maxSentKeys) return `keys: must be at most ${maxSentKeys}.`;
  const reserved = keys.find((key) => nameKeys.includes(key));
  if (reserved !== undefined) return `keys: must not include ${reserved}, which this service sends itself.`;
  return keys.every((key) => keyPattern.test(key))
    ? null
    : 'keys: must have 1 to 40 characters each, without square brackets and control characters.';
}
