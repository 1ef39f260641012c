import { randomUUID } from 'node:crypto';
import Stripe from 'stripe';
import type { Environment } from '#shared/platform/environment.ts';
import { braintreeClient } from '../../sandbox/clients.ts';
import { type ProcessorName, sandboxCredentials } from '../../sandbox/processors.ts';

// Webhooks as the processors send them, signed by their own SDKs.

export interface SignedWebhook {
  body: string;
  headers: Record<string, string>;
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
  return {
    id: `evt_${randomUUID().replaceAll('-', '')}`,
    object: 'event',
    api_version: '2026-10-28.endive',
    created: Math.floor(Date.now() / 1000),
    data: {
      object: {
        id: externalRefundId,
        object: 'refund',
        amount: 1,
        currency: 'usd',
        status: processorStatus,
        charge: transactionId,
        payment_intent: `pi_${transactionId.slice(3)}`,
        metadata: refundId === null ? {} : { refund_id: refundId },
      },
    },
    livemode: false,
    pending_webhooks: 1,
    request: { id: null, idempotency_key: null },
    type: 'refund.updated',
    ...changes,
  };
}

/** Signs a body for Stripe's endpoint of the sandbox's account, or with a secret of its own. */
export function signStripe(
  body: string,
  { environment = 'test', timestamp, secret }: Signer & { secret?: string } = {},
): SignedWebhook {
  const header = Stripe.webhooks.generateTestHeaderString({
    payload: body,
    secret: secret ?? sandboxCredentials(environment, '').stripe.webhookSecret,
    ...(timestamp === undefined ? {} : { timestamp }),
  });
  return {
    body,
    headers: { 'content-type': 'application/json; charset=utf-8', 'stripe-signature': header },
  };
}

/** A notification about a refund, as Braintree's gateway writes it. */
export function braintreeNotification(
  { externalRefundId, refundId, transactionId, processorStatus = 'settled' }: ReportedRefund,
  { kind = 'transaction_settled', type = 'credit', at = new Date() } = {},
): string {
  return `<notification>
    <timestamp type="datetime">${at.toISOString()}</timestamp>
    <kind>${kind}</kind>
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
  { environment = 'test', keys }: Signer & { keys?: { publicKey: string; privateKey: string } } = {},
): SignedWebhook {
  return braintreeForm(`${Buffer.from(xml).toString('base64')}\n`, keys ?? braintreeKeys(environment));
}

/** Signs a payload as it is. */
export function braintreeForm(
  payload: string,
  keys: { publicKey: string; privateKey: string },
): SignedWebhook {
  const { gateway } = braintreeClient('http://unused.example', keys);
  const { sampleSignature } = gateway.webhookTesting as unknown as {
    sampleSignature(signed: string): string;
  };
  const signature = sampleSignature.call(gateway.webhookTesting, payload);
  return {
    body: new URLSearchParams({ bt_signature: signature, bt_payload: payload }).toString(),
    headers: { 'content-type': 'application/x-www-form-urlencoded' },
  };
}

/** The keys that the sandbox's account has in an environment. */
export function braintreeKeys(environment: Environment) {
  return sandboxCredentials(environment, '').braintree;
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
