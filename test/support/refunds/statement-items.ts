import type { Environment } from '../../../shared/platform/environment.ts';
import { newId } from '../../../shared/platform/ids.ts';

// What the SQL functions of the core take, for tests that call them without the service.

export interface Owner {
  organizationId: string;
  environment: Environment;
}

/** For `create_refunds`: a refund of 1.00 USD of a new payment at Stripe, which is to be sent. */
export function creationOf({ organizationId, environment }: Owner, id = newId('ref')) {
  const now = new Date();
  return {
    id,
    organization_id: organizationId,
    environment,
    processor: 'stripe',
    transaction_id: `ch_${id}`,
    amount: 100,
    currency: 'usd',
    reason: 'other',
    initiated_by: 'api',
    actor: 'test',
    status: 'processing',
    event_id: newId('evt'),
    payment: { amount: 100, currency: 'usd', charged_at: now, fetched_at: now },
  } as const;
}

/** For `cancel_refund`. */
export function cancellationOf({ organizationId, environment }: Owner, refundId: string) {
  return {
    refund_id: refundId,
    organization_id: organizationId,
    environment,
    actor: 'test',
    event_id: newId('evt'),
  };
}
