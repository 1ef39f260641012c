import type { Environment } from '#shared/platform/environment.ts';
import { newId } from '#shared/platform/ids.ts';
import { setProcessorAccount } from '#shared/processors/accounts/manage-accounts.ts';
import { sandboxCredentials } from '../../sandbox/processors.ts';
import type { TestService } from '../../support/service.ts';

/** The account of a payment, in the words of the sandbox. */
export interface Owner {
  /** The name of the account; undefined for the default one. */
  account: string | undefined;
  connectedAccount: string | undefined;
}

/** The accounts of an organization at Stripe, in each environment. */
export const stripeAccounts = [undefined, 'eu', 'us'] as const;

/** Connected accounts that are on record, and unused, before the first refund. */
export const sellerCount = 1_000;

/** A connected account, which belongs to one account in one environment. */
export function sellerOf(number: number): Owner & { environment: Environment } {
  return {
    environment: number % 2 === 0 ? 'test' : 'live',
    account: stripeAccounts[number % stripeAccounts.length],
    connectedAccount: `acct_seller${number}`,
  };
}

/** What the service calls the account. */
export function accountNameOf({ account, connectedAccount }: Owner, processor: string): string {
  const name = account ?? processor;
  return connectedAccount === undefined ? name : `${name}/${connectedAccount}`;
}

/** Adds what the organization has besides a default account for each processor. */
export async function addAccounts({ deps, ownerDb, organization, sandboxUrl }: TestService): Promise<void> {
  const organizationId = organization.id;
  for (const environment of ['live', 'test'] as const) {
    for (const name of stripeAccounts) {
      const place = { organizationId, environment, processor: 'stripe', ...(name && { name }) };
      const { stripe: credentials } = sandboxCredentials(environment, sandboxUrl, name);
      await setProcessorAccount(deps, { ...place, credentials, actor: 'test' });
    }
  }
  const parents = await ownerDb.processorAccount.findMany({ where: { organizationId } });
  await ownerDb.processorAccount.createMany({
    data: Array.from({ length: sellerCount }, (_, index) => {
      const { environment, ...owner } = sellerOf(index + 1);
      const parent = parents.find(
        (each) => each.environment === environment && each.name === (owner.account ?? 'stripe'),
      );
      if (parent === undefined) throw new Error(`There is no account ${owner.account}.`);
      return {
        ...{ id: newId('acc'), organizationId, environment, processor: 'stripe' },
        ...{ name: accountNameOf(owner, 'stripe'), parentId: parent.id, updatedAt: parent.updatedAt },
        ...{ connectedAccount: owner.connectedAccount ?? null, usedAt: longAgo },
      };
    }),
  });
}

/** Before the time for which a connected account counts as in use. */
const longAgo = new Date('2020-01-01');
