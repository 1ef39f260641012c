import { writeAudit } from '../../audit/audit-log.ts';
import type { Database, DatabaseTransaction, ProcessorAccount, Stores } from '../../platform/database.ts';
import type { Environment } from '../../platform/environment.ts';
import { ServiceError } from '../../platform/errors.ts';
import { newId } from '../../platform/ids.ts';
import { changeOrganization, findOrganization } from '../../platform/organization.ts';
import type { SecretBox } from '../../platform/secrets/secrets.ts';
import { processorKind, processorNames } from '../registry.ts';
import { type AccountPlace, accountAt, credentialContext, withoutCredentials } from './account.ts';

/** An account without its credentials. */
export type AccountSummary = Omit<ProcessorAccount, 'encryptedCredentials' | 'encryptionKeyId'>;

/**
 * An organization's accounts with credentials of their own: live first, and the default one of each processor first; of all environments
 * unless one is given.
 */
export async function listProcessorAccounts(
  db: Database,
  organizationId: string,
  environment?: Environment,
): Promise<AccountSummary[]> {
  await findOrganization(db, organizationId);
  return await db.processorAccount.findMany({
    where: { organizationId, parentId: null, ...(environment === undefined ? {} : { environment }) },
    omit: withoutCredentials,
    orderBy: [{ environment: 'asc' }, { processor: 'asc' }, { isDefault: 'desc' }, { name: 'asc' }],
  });
}

/**
 * The accounts of an environment that refunds can be requested of: those with credentials of their own, the default one of each processor
 * first, and connected ones that are in use; see prisma/functions/accounts/accounts_in_use.sql.
 */
export async function listUsableAccounts(
  db: Database,
  { organizationId, environment }: { organizationId: string; environment: Environment },
): Promise<UsableAccount[]> {
  return await db.$queryRaw<UsableAccount[]>`
    SELECT id, name, processor, connected_account AS "connectedAccount", abilities
    FROM accounts_in_use(${organizationId}, ${environment}::environment)
    ORDER BY parent_id IS NOT NULL, processor, is_default DESC, name`;
}

/** An account that refunds can be requested of. */
export type UsableAccount = Pick<
  ProcessorAccount,
  'id' | 'name' | 'processor' | 'connectedAccount' | 'abilities'
>;

/** Credentials of another account at the processor than those before; nothing was stored. */
export class OtherAccountError extends Error {
  override readonly name = 'OtherAccountError';
}

/**
 * Adds an organization's account at a processor, or replaces its credentials. The first account of a processor is the default one. Refunds
 * that may have waited for working credentials become due at once.
 * @param request.name of the account; the default one without it, which is named after its processor.
 * @param request.newId the id of an account to add, of which no credentials are replaced.
 * @param request.externalAccountId the processor's id of the account; null or left out where that is not known.
 * @param request.force true to replace credentials by those of another account at the processor.
 * @returns the account's id, which stays when credentials are replaced, and the number of refunds that became due.
 * @throws InvalidCredentialsError naming the field, never its value; ServiceError validation_error for an unknown
 * processor, for a name that is unsuitable or taken, or for the processor's account that another one of the organization is, not_found for
 * an unknown organization; OtherAccountError without `force`.
 */
export async function setProcessorAccount(
  deps: Stores & { secrets: SecretBox },
  request: AccountPlace & {
    newId?: string;
    credentials: unknown;
    externalAccountId?: string | null;
    force?: boolean;
    actor: string;
  },
): Promise<{ id: string; resumedRefunds: number }> {
  const { organizationId, environment, processor, credentials, actor } = request;
  requireProcessor(processor);
  requireName(request.name);
  processorKind(processor).parseCredentials(credentials, environment);
  const now = deps.clock.now();
  return await changeOrganization(deps.db, organizationId, async (tx) => {
    const existing = await tx.processorAccount.findFirst({ where: accountAt(request) });
    if (request.newId !== undefined) await requireNew(tx, existing, request.newId);
    const externalAccountId = request.externalAccountId ?? existing?.externalAccountId ?? null;
    if (externalAccountId !== null) await requireOneName(tx, existing, { ...request, externalAccountId });
    const { id, name } = existing ?? {
      id: request.newId ?? newId('acc'),
      name: request.name ?? processor,
    };
    const context = credentialContext({ organizationId, environment, processor, name });
    const sealed = deps.secrets.seal(JSON.stringify(credentials), context);
    const columns = {
      encryptedCredentials: sealed.bytes,
      encryptionKeyId: sealed.keyId,
      externalAccountId,
    };
    if (existing === null)
      await addAccount(tx, { organizationId, environment, processor, name, id, ...columns }, now);
    else await replaceCredentials(tx, existing, columns, now);
    const replaced = existing !== null;
    const resumedRefunds = replaced ? await tx.$executeRaw`SELECT resume_refunds(${id})` : 0;
    const detail = { environment, processor, name, replaced };
    await writeAudit(tx, { organizationId, actor, action: 'account.set', target: id, detail }, now);
    return { id, resumedRefunds };
  });
}

/** @throws ServiceError validation_error for an unknown processor. */
export function requireProcessor(processor: string): void {
  if (processorNames.includes(processor)) return;
  throw new ServiceError('validation_error', `processor: must be one of: ${processorNames.join(', ')}.`);
}

/** A name can be part of an address, and has no place for the slash in that of a connected account. */
const accountNamePattern = /^[a-z0-9][a-z0-9_-]{0,39}$/;

/** @throws ServiceError validation_error for a name that an account cannot have. */
function requireName(name: string | undefined): void {
  if (name === undefined || (accountNamePattern.test(name) && !name.startsWith('acc_'))) return;
  throw new ServiceError(
    'validation_error',
    'name: must be 1 to 40 lowercase letters, digits, hyphens or underscores, such as shop-eu, and not begin with acc_.',
  );
}

/** The same account again is that of a form that was sent twice. @throws ServiceError validation_error for another one. */
async function requireNew(
  tx: DatabaseTransaction,
  existing: Pick<ProcessorAccount, 'id'> | null,
  id: string,
): Promise<void> {
  if (existing?.id === id) return;
  if (existing !== null)
    throw new ServiceError('validation_error', 'name: is that of another account. Choose another one.');
  if ((await tx.processorAccount.count({ where: { id } })) > 0)
    throw new ServiceError('validation_error', 'This form has added an account already. Open a new one.');
}

/**
 * Two accounts that are one at the processor would each have limits for the same payments.
 * @throws ServiceError validation_error when another account is this one at the processor; OtherAccountError.
 */
async function requireOneName(
  tx: DatabaseTransaction,
  existing: Pick<ProcessorAccount, 'id' | 'name' | 'externalAccountId'> | null,
  account: AccountPlace & { externalAccountId: string; force?: boolean },
): Promise<void> {
  const { organizationId, environment, processor, externalAccountId, force } = account;
  const same = await tx.processorAccount.findFirst({
    where: {
      ...{ organizationId, environment, processor, NOT: { id: existing?.id ?? '' } },
      OR: [{ externalAccountId }, { connectedAccount: externalAccountId }],
    },
  });
  if (same !== null)
    throw new ServiceError(
      'validation_error',
      `The credentials belong to ${externalAccountId}, which is the account ${same.name} already. Replace the credentials of that one, or use those of another account.`,
    );
  const before = existing?.externalAccountId ?? externalAccountId;
  if (before === externalAccountId || force === true) return;
  throw new OtherAccountError(
    `The credentials belong to ${externalAccountId}, but the account ${existing?.name} is ${before}. Refunds in progress would be looked up in ${externalAccountId}.`,
  );
}

type Credentials = Pick<ProcessorAccount, 'encryptedCredentials' | 'encryptionKeyId' | 'externalAccountId'>;

async function addAccount(
  tx: DatabaseTransaction,
  account: AccountPlace & Credentials & Pick<ProcessorAccount, 'id' | 'name'>,
  now: Date,
): Promise<void> {
  const { organizationId, environment, processor, name } = account;
  const hasDefault =
    (await tx.processorAccount.count({ where: accountAt({ organizationId, environment, processor }) })) > 0;
  await tx.processorAccount.create({
    data: { ...account, name, isDefault: !hasDefault, createdAt: now, updatedAt: now },
  });
}

/** Those of the accounts that are connected to it are replaced with them. */
async function replaceCredentials(
  tx: DatabaseTransaction,
  { id, updatedAt: before }: Pick<ProcessorAccount, 'id' | 'updatedAt'>,
  columns: Credentials,
  now: Date,
): Promise<void> {
  // Processes notice new credentials by this time, so it has to change even within a millisecond.
  const updatedAt = new Date(Math.max(now.getTime(), before.getTime() + 1));
  const unproven = { updatedAt, abilities: {}, misconfiguredAt: null, rateLimits: {} };
  await tx.processorAccount.update({ where: { id }, data: { ...columns, ...unproven } });
  await tx.processorAccount.updateMany({ where: { parentId: id }, data: unproven });
}
