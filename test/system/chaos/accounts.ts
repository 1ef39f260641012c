import type { Environment } from '#shared/platform/environment.ts';
import { newId } from '#shared/platform/ids.ts';
import { setProcessorAccount } from '#shared/processors/accounts/manage-accounts.ts';
import { sandboxCredentials } from '../../sandbox/processors.ts';
import type { TestService } from '../../support/service.ts';

/** Whose a payment is. */
export interface Owner {
  /** The name of an account with credentials. */
  account: string;
  /** The account connected to it that has the payment; undefined for itself. */
  connectedAccount: string | undefined;
}

/** The accounts of an organization at Stripe, in each environment, the default one first. */
export const stripeAccounts = ['stripe', 'eu', 'us'] as const;

/** Connected accounts that are on record, and unused, before the first refund. */
export const sellerCount = 1_000;

/** A connected account, which belongs to one account in one environment. */
export function sellerOf(number: number): Owner & { environment: Environment } {
  return {
    environment: number % 2 === 0 ? 'test' : 'live',
    account: stripeAccounts[number % stripeAccounts.length] ?? 'stripe',
    connectedAccount: `acct_seller${number}`,
  };
}

/** What the service calls the account. */
export function accountNameOf({ account, connectedAccount }: Owner): string {
  return connectedAccount === undefined ? account : `${account}/${connectedAccount}`;
}

/** What the sandbox calls it: the default account has no name there. */
export function nameAtSandbox(account: string, processor: string): string | undefined {
  return account === processor ? undefined : account;
}

/** Adds what the organization has besides a default account for each processor. */
export async function addAccounts({ deps, ownerDb, organization, sandboxUrl }: TestService): Promise<void> {
  const organizationId = organization.id;
  for (const environment of ['live', 'test'] as const) {
    for (const name of stripeAccounts) {
      const place = { organizationId, environment, processor: 'stripe', name };
      const account = nameAtSandbox(name, 'stripe');
      const { stripe: credentials } = sandboxCredentials(environment, sandboxUrl, account);
      await setProcessorAccount(deps, { ...place, credentials, actor: 'test' });
    }
  }
  const parents = await ownerDb.processorAccount.findMany({ where: { organizationId } });
  await ownerDb.processorAccount.createMany({
    data: Array.from({ length: sellerCount }, (_, index) => {
      const { environment, ...owner } = sellerOf(index + 1);
      const parent = parents.find((each) => each.environment === environment && each.name === owner.account);
      if (parent === undefined) throw new Error(`There is no account ${owner.account}.`);
      return {
        ...{ id: newId('acc'), organizationId, environment, processor: 'stripe' },
        ...{ name: accountNameOf(owner), parentId: parent.id, updatedAt: parent.updatedAt },
        ...{ connectedAccount: owner.connectedAccount ?? null, usedAt: longAgo },
      };
    }),
  });
}

/** Before the time for which a connected account counts as in use. */
const longAgo = new Date('2020-01-01');
