import type { Environment } from '#shared/platform/environment.ts';
import { newId } from '#shared/platform/ids.ts';
import type { TestOrganization } from '../service.ts';

// What the SQL functions of the core take, for tests that call them without the service.

export interface Owner {
  organizationId: string;
  environment: Environment;
}

/** The owner with its account at Stripe. */
export interface AccountOwner extends Owner {
  accountId: string;
}

/** The organization of a test, in the test environment unless said otherwise. */
export function ownerOf(
  { id: organizationId, accounts }: Pick<TestOrganization, 'id' | 'accounts'>,
  environment: Environment = 'test',
): AccountOwner {
  return { organizationId, environment, accountId: accounts[environment].stripe };
}

/** For `create_refunds`: a refund of 1.00 USD of a new payment at Stripe, which is to be sent. */
export function creationOf({ organizationId, environment, accountId }: AccountOwner, id = newId('ref')) {
  const now = new Date();
  return {
    id,
    organizationId,
    environment,
    accountId,
    processor: 'stripe',
    transactionId: `ch_${id}`,
    amount: 100n,
    currency: 'usd',
    reason: 'other',
    metadata: null,
    initiatedBy: 'api',
    actor: 'test',
    status: 'processing',
    eventId: newId('evt'),
    payment: { amount: 100n, currency: 'usd', chargedAt: now, fetchedAt: now },
  } as const;
}

/** For `cancel_refund`. */
export function cancellationOf({ organizationId, environment }: Owner, refundId: string) {
  return {
    refundId,
    organizationId,
    environment,
    actor: 'test',
    eventId: newId('evt'),
  };
}
