import type { Environment } from '#shared/platform/environment.ts';
import type { WebhookRequest as UnverifiedRequest } from '#shared/processors/contract/processor.ts';
import { signedNotification } from '../../sandbox/braintree/webhooks.ts';
import { type ProcessorName, sandboxCredentials } from '../../sandbox/processors.ts';
import { eventObject, signedStripeEvent } from '../../sandbox/stripe/webhooks.ts';
import type { WebhookRequest } from '../../sandbox/webhooks.ts';

// Webhooks as the processors send them, signed as the sandbox does it. The service verifies them with the SDKs.

export type SignedWebhook = WebhookRequest;

/** The request with a webhook, as a route has it. */
export function requestOf({ body, headers }: SignedWebhook): UnverifiedRequest {
  return { body: Buffer.from(body), headers };
}

/** The refund that a webhook is about, as its processor has it. */
export interface ReportedRefund {
  externalRefundId: string;
  /** Our id where the processor keeps it; null for a refund that was made elsewhere. */
  refundId: string | null;
  transactionId: string;
  /** The processor's word for its state; one that has succeeded there unless told. */
  processorStatus?: string | undefined;
}

/** Whose account signs. */
export interface Signer {
  environment?: Environment;
  /** In seconds since 1970; now unless told. Stripe alone signs it. */
  timestamp?: number;
}

/** An event about a refund, as Stripe's API gives it. */
export function stripeEvent(
  { externalRefundId, refundId, transactionId, processorStatus = 'succeeded' }: ReportedRefund,
  changes: Record<string, unknown> = {},
): Record<string, unknown> {
  const refund = {
    ...{ id: externalRefundId, object: 'refund', amount: 1, currency: 'usd', status: processorStatus },
    ...{ charge: transactionId, payment_intent: `pi_${transactionId.slice(3)}` },
    metadata: refundId === null ? {} : { refund_id: refundId },
  };
  return { ...eventObject('refund.updated', refund, false), ...changes };
}

/** Signs a body for Stripe's endpoint of the sandbox's account, or with a secret of its own. */
export function signStripe(
  body: string,
  { environment = 'test', timestamp, secret }: Signer & { secret?: string } = {},
): SignedWebhook {
  const { webhookSecret } = sandboxCredentials(environment, '').stripe;
  return signedStripeEvent(body, { secret: secret ?? webhookSecret }, timestamp);
}

/** A notification about a refund, as Braintree's gateway writes it. */
export function braintreeNotification(
  { externalRefundId, refundId, transactionId, processorStatus = 'settled' }: ReportedRefund,
  { type = 'credit' } = {},
): string {
  return `<notification>
    <timestamp type="datetime">${new Date().toISOString()}</timestamp>
    <kind>transaction_settled</kind>
    <subject><transaction>
      <id>${externalRefundId}</id><type>${type}</type><status>${processorStatus}</status><amount>1.00</amount>
      <order-id>${refundId ?? 'order-1'}</order-id>
      <refunded-transaction-id>${transactionId}</refunded-transaction-id>
      <refund-ids type="array"/>
    </transaction></subject>
  </notification>`;
}

/** Signs XML, or what takes its place, with the keys of the sandbox's account, or with others. */
export function signBraintree(
  xml: string,
  { environment = 'test', keys }: Signer & { keys?: Record<string, string> } = {},
): SignedWebhook {
  const payload = `${Buffer.from(xml).toString('base64')}\n`;
  return braintreeForm(payload, keys ?? sandboxCredentials(environment, '').braintree);
}

/** Signs a payload as it is. */
export function braintreeForm(
  payload: string,
  keys: Record<string, string> = sandboxCredentials('test', '').braintree,
): SignedWebhook {
  return signedNotification(payload, keys);
}

/** A dispute of a payment, in its processor's words. */
interface ReportedDispute {
  transactionId: string;
  /** One that needs an answer unless told; `won` for the merchant. */
  status?: 'open' | 'won';
}

/** A webhook about a chargeback, signed for the test organization's account. */
export function disputeWebhook(
  processor: ProcessorName,
  { transactionId, status = 'open' }: ReportedDispute,
): SignedWebhook {
  switch (processor) {
    case 'stripe': {
      const dispute = {
        ...{ id: 'dp_1', object: 'dispute', charge: transactionId, is_charge_refundable: false },
        ...{
          payment_intent: `pi_${transactionId.slice(3)}`,
          status: status === 'won' ? 'won' : 'needs_response',
        },
      };
      const type = status === 'won' ? 'charge.dispute.closed' : 'charge.dispute.created';
      return signStripe(JSON.stringify(eventObject(type, dispute, false)));
    }
    case 'braintree':
      return signBraintree(`<notification>
        <timestamp type="datetime">${new Date().toISOString()}</timestamp>
        <kind>${status === 'won' ? 'dispute_won' : 'dispute_opened'}</kind>
        <subject><dispute>
          <id>dispute1</id><kind>chargeback</kind><status>${status}</status><amount>1.00</amount>
          <transaction><id>${transactionId}</id><amount>1.00</amount></transaction>
        </dispute></subject>
      </notification>`);
  }
}

/** A webhook about a refund, signed for the test organization's account. */
export function webhookAbout(
  processor: ProcessorName,
  reported: ReportedRefund,
  signer: Signer = {},
): SignedWebhook {
  switch (processor) {
    case 'stripe': {
      const livemode = signer.environment === 'live';
      return signStripe(JSON.stringify(stripeEvent(reported, { livemode })), signer);
    }
    case 'braintree':
      return signBraintree(braintreeNotification(reported), signer);
  }
}
