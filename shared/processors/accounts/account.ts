import type { Database, DatabaseTransaction, Prisma, ProcessorAccount } from '../../platform/database.ts';
import type { Environment } from '../../platform/environment.ts';
import { ServiceError } from '../../platform/errors.ts';

/** An account without its credentials. */
export type AccountName = Omit<ProcessorAccount, 'encryptedCredentials' | 'encryptionKeyId' | 'createdAt'>;

/** For Prisma's `omit`. */
export const withoutCredentials = { encryptedCredentials: true, encryptionKeyId: true } as const;

/**
 * The context that stored credentials are sealed with; see `SecretBox`. It is another one for each account. Accounts that are named after
 * their processor have that of the time when there was one of each.
 */
export function credentialContext({
  organizationId,
  environment,
  processor,
  name,
}: Pick<ProcessorAccount, 'organizationId' | 'environment' | 'processor' | 'name'>): string {
  const named = name === processor ? [] : [name];
  return ['processor-account', organizationId, environment, processor, ...named].join('/');
}

/** An account of an organization with credentials of its own: the one with this name, or the default one of the processor. */
export interface AccountPlace {
  organizationId: string;
  environment: Environment;
  processor: string;
  name?: string | undefined;
}

/** Selects the account. */
export function accountAt({ organizationId, environment, processor, name }: AccountPlace) {
  const which = name === undefined ? { isDefault: true } : { name, parentId: null };
  return { organizationId, environment, processor, ...which } satisfies Prisma.ProcessorAccountWhereInput;
}

/** @throws ServiceError not_found for an account that is not set up. */
export async function findAccount(db: DatabaseTransaction, place: AccountPlace): Promise<AccountName> {
  const account = await db.processorAccount.findFirst({ where: accountAt(place), omit: withoutCredentials });
  if (account === null) throw new ServiceError('not_found', 'This account is not set up.');
  return account;
}

/** An account of an owner by its id, also a connected one. @throws ServiceError not_found for any other. */
export async function findOwnAccount(
  db: Database,
  { organizationId, environment }: { organizationId: string; environment: Environment },
  id: string,
): Promise<AccountName> {
  const where = { id, organizationId, environment };
  const account = await db.processorAccount.findFirst({ where, omit: withoutCredentials });
  if (account === null) throw new ServiceError('not_found', 'This account is not set up.');
  return account;
}

/** The account of a refund or payment. */
export async function loadAccount(db: Database, { accountId }: { accountId: string }): Promise<AccountName> {
  return await db.processorAccount.findUniqueOrThrow({ where: { id: accountId }, omit: withoutCredentials });
}
