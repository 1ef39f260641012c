import { writeAudit } from '../../audit/audit-log.ts';
import type { Database, DatabaseTransaction, ProcessorAccount, Stores } from '../../platform/database.ts';
import type { Environment } from '../../platform/environment.ts';
import { ServiceError } from '../../platform/errors.ts';
import { newId } from '../../platform/ids.ts';
import { changeOrganization, findOrganization } from '../../platform/organization.ts';
import type { SecretBox } from '../../platform/secrets/secrets.ts';
import { processorKind, processorNames } from '../registry.ts';
import { type AccountKey, credentialContext, withoutCredentials } from './connections.ts';

/** An account without its credentials. */
export type AccountSummary = Omit<
  ProcessorAccount,
  'encryptedCredentials' | 'encryptionKeyId' | 'throttledUntil'
>;

/** An organization's accounts, live first; of all environments unless one is given. */
export async function listProcessorAccounts(
  db: Database,
  organizationId: string,
  environment?: Environment,
): Promise<AccountSummary[]> {
  await findOrganization(db, organizationId);
  return await db.processorAccount.findMany({
    where: { organizationId, ...(environment === undefined ? {} : { environment }) },
    omit: withoutCredentials,
    orderBy: [{ environment: 'asc' }, { processor: 'asc' }],
  });
}

/**
 * Adds an organization's account at a processor, or replaces its credentials. Refunds that may have waited for working
 * credentials become due at once.
 * @returns the account's id, which stays when credentials are replaced, and the number of refunds that became due.
 * @throws InvalidCredentialsError naming the field, never its value; ServiceError validation_error for an unknown
 * processor, not_found for an unknown organization.
 */
export async function setProcessorAccount(
  deps: Stores & { secrets: SecretBox },
  request: AccountKey & { credentials: unknown; actor: string },
): Promise<{ id: string; resumedRefunds: number }> {
  const { organizationId, environment, processor, credentials, actor } = request;
  requireProcessor(processor);
  processorKind(processor).parseCredentials(credentials, environment);
  const key: AccountKey = { organizationId, environment, processor };
  const sealed = deps.secrets.seal(JSON.stringify(credentials), credentialContext(key));
  const now = deps.clock.now();
  return await changeOrganization(deps.db, organizationId, async (tx) => {
    const columns = { encryptedCredentials: sealed.bytes, encryptionKeyId: sealed.keyId };
    const { id, replaced } = await storeCredentials(tx, key, columns, now);
    const resume = () =>
      tx.$executeRaw`SELECT resume_refunds(${organizationId}, ${environment}::environment, ${processor})`;
    const resumedRefunds = replaced ? await resume() : 0;
    const detail = { environment, processor, replaced };
    await writeAudit(tx, { organizationId, actor, action: 'account.set', target: id, detail }, now);
    return { id, resumedRefunds };
  });
}

/** @throws ServiceError validation_error for an unknown processor. */
export function requireProcessor(processor: string): void {
  if (processorNames.includes(processor)) return;
  throw new ServiceError('validation_error', `processor: must be one of: ${processorNames.join(', ')}.`);
}

async function storeCredentials(
  tx: DatabaseTransaction,
  key: AccountKey,
  columns: Pick<ProcessorAccount, 'encryptedCredentials' | 'encryptionKeyId'>,
  now: Date,
): Promise<{ id: string; replaced: boolean }> {
  const where = { organizationId_environment_processor: { ...key } };
  const existing = await tx.processorAccount.findUnique({ where });
  if (existing === null) {
    const id = newId('acc');
    await tx.processorAccount.create({ data: { ...key, ...columns, id, createdAt: now, updatedAt: now } });
    return { id, replaced: false };
  }
  // Processes notice new credentials by this time, so it has to change even within a millisecond.
  const updatedAt = new Date(Math.max(now.getTime(), existing.updatedAt.getTime() + 1));
  await tx.processorAccount.update({
    where,
    data: { ...columns, updatedAt, abilities: {}, misconfiguredAt: null, rateLimits: {} },
  });
  return { id: existing.id, replaced: true };
}
