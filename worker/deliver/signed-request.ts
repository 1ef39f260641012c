import { Webhook } from 'standardwebhooks';
import { bodyOf } from '#shared/webhooks/delivery-content.ts';
import type { DeliveryClaim } from './statements.ts';

/** What is sent for a delivery. */
export interface SignedRequest {
  headers: Record<string, string>;
  body: Buffer;
}

/**
 * Builds the request of an attempt, signed as Standard Webhooks demands.
 * @param secrets `whsec_...`; each adds a signature.
 * @param now the time of the attempt, in the signature.
 */
export function signedRequest(claim: DeliveryClaim, secrets: readonly string[], now: Date): SignedRequest {
  const text = JSON.stringify(bodyOf(claim));
  const signatures = secrets.map((secret) => new Webhook(secret).sign(claim.webhookId, now, text));
  return {
    headers: {
      'content-type': 'application/json',
      'accept-encoding': 'identity',
      'user-agent': 'RefundService-Webhooks/1.0',
      'webhook-id': claim.webhookId,
      'webhook-timestamp': String(Math.floor(now.getTime() / 1000)),
      'webhook-signature': signatures.join(' '),
    },
    body: Buffer.from(text),
  };
}
