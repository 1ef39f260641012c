import { expect } from 'vitest';
import type { Environment } from '#shared/platform/environment.ts';
import { braintreeClient, stripeClient } from '../../sandbox/clients.ts';
import type { ProcessorName } from '../../sandbox/processors.ts';
import type { TestService } from '../service.ts';

/**
 * Refunds a payment at its processor, past this service, as somebody in the processor's own dashboard would.
 * @param refund `amount` in cents; in the test environment, unless told; `refundId` is the name under which a refund of ours would be there, if it is to look
 * like one.
 * @returns the processor's id of it.
 */
export async function refundDirectly(
  { sandboxUrl }: Pick<TestService, 'sandboxUrl'>,
  refund: {
    processor: ProcessorName;
    transactionId: string;
    amount: number;
    refundId?: string;
    /** Of the idempotency key of the request for it. */
    requestDigest?: string;
    /** With a `refundId`: the organization that seems to have made it. */
    organizationId?: string;
    connectedAccount?: string;
    environment?: Environment;
  },
): Promise<string> {
  const {
    processor,
    transactionId,
    amount,
    refundId,
    requestDigest,
    organizationId,
    environment = 'test',
  } = refund;
  switch (processor) {
    case 'stripe': {
      const metadata = {
        ...(refundId === undefined ? {} : { refund_id: refundId }),
        ...(requestDigest === undefined ? {} : { request_digest: requestDigest }),
        ...(organizationId === undefined ? {} : { refund_organization: organizationId }),
      };
      const { connectedAccount } = refund;
      const made = await stripeClient(sandboxUrl, `sk_${environment}_direct`).refunds.create(
        { charge: transactionId, amount, metadata },
        connectedAccount === undefined ? {} : { stripeAccount: connectedAccount },
      );
      return made.id;
    }
    case 'braintree': {
      const orderId = organizationId === undefined ? refundId : `${refundId}..${organizationId}`;
      const { transactions } = braintreeClient(sandboxUrl, `${environment}_direct`);
      const reply = await transactions.refund(transactionId, {
        amount: (amount / 100).toFixed(2),
        ...(orderId === undefined ? {} : { orderId }),
      });
      expect(reply.success, reply.message).toBe(true);
      return reply.transaction.id;
    }
  }
}
