import type { Database } from '../../platform/database.ts';
import type { Environment } from '../../platform/environment.ts';
import { newId } from '../../platform/ids.ts';
import { processorNames } from '../registry.ts';
import { type AccountName, withoutCredentials } from './account.ts';

// A connected account is one of its own for everything but its credentials and settings, which are those of its parent.

/** An account that is connected to another one. */
export type ConnectedAccount = AccountName & { parentId: string; connectedAccount: string };

/** True for one that was never used, which is not stored. */
export function isUnused(account: AccountName): account is ConnectedAccount {
  return account.parentId !== null && account.usedAt === null;
}

/** The account that has the limits of an account: of one that was never used, its parent, because there may be any number of those. */
export function limitedAs(account: AccountName): string {
  return isUnused(account) ? account.parentId : account.id;
}

/** An account that is connected to `parent`: as it is stored, or as it would be on its first use. */
export async function connectedAccountOf(
  db: Database,
  parent: AccountName,
  connectedAccount: string,
): Promise<AccountName> {
  const stored = await db.processorAccount.findUnique({
    where: { parentId_connectedAccount: { parentId: parent.id, connectedAccount } },
    omit: withoutCredentials,
  });
  return (
    stored ?? {
      ...parent,
      ...{ id: newId('acc'), name: `${parent.name}/${connectedAccount}`, isDefault: false },
      ...{ parentId: parent.id, connectedAccount, externalAccountId: null, usedAt: null },
      ...{ abilities: {}, workedAt: null, misconfiguredAt: null },
    }
  );
}

/** The connected accounts of an owner with an id or a name; two at most. */
export async function findConnectedAccounts(
  db: Database,
  { organizationId, environment }: { organizationId: string; environment: Environment },
  named: string,
): Promise<AccountName[]> {
  // Each by a whole key.
  const key = named.startsWith('acc_')
    ? { id: named }
    : { processor: { in: [...processorNames] }, name: named };
  return await db.processorAccount.findMany({
    where: { organizationId, environment, ...key, parentId: { not: null } },
    omit: withoutCredentials,
    take: 2,
  });
}

/**
 * The accounts that are connected to one of an owner, the latest used first.
 * @param search.text a part of their ids at the processor; empty for all of them.
 */
export async function listConnectedAccounts(
  db: Database,
  { id, organizationId, environment }: Pick<AccountName, 'id' | 'organizationId' | 'environment'>,
  { text, limit }: { text: string; limit: number },
): Promise<AccountName[]> {
  return await db.processorAccount.findMany({
    where: {
      ...{ organizationId, environment, parentId: id, usedAt: { not: null } },
      connectedAccount: { contains: text },
    },
    omit: withoutCredentials,
    orderBy: [{ usedAt: 'desc' }, { id: 'desc' }],
    take: limit,
  });
}

/** How exactly it is known when an account was last used. */
const usedWithinMs = 60 * 60 * 1000;

/**
 * Notes that a connected account is used for a new refund, and stores it on its first use, with the settings of its parent.
 * @returns the account as it is stored.
 */
export async function noteUse(db: Database, account: AccountName, now: Date): Promise<AccountName> {
  const { id, parentId, connectedAccount, usedAt } = account;
  if (parentId === null || connectedAccount === null) return account;
  if (usedAt !== null) {
    if (now.getTime() - usedAt.getTime() >= usedWithinMs)
      await db.processorAccount.update({ where: { id }, data: { usedAt: now } });
    return account;
  }
  // A change of the parent that is under way is waited for; one that comes later finds this row.
  await db.$executeRaw`
    INSERT INTO processor_account (id, organization_id, environment, processor, name, parent_id, connected_account, used_at, updated_at,
      calls_per_second, sent_metadata_keys, transfers, application_fees)
    SELECT ${id}, organization_id, environment, processor, ${account.name}, id, ${connectedAccount}, ${now}, updated_at,
      calls_per_second, sent_metadata_keys, transfers, application_fees
    FROM processor_account WHERE id = ${parentId} FOR SHARE
    ON CONFLICT (parent_id, connected_account) DO NOTHING`;
  return await db.processorAccount.findUniqueOrThrow({
    where: { parentId_connectedAccount: { parentId, connectedAccount } },
    omit: withoutCredentials,
  });
}
