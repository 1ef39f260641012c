import { createHmac } from 'node:crypto';
import type { Ledger, Refund } from '../ledger.ts';
import { randomId } from '../random-id.ts';
import type { WebhookRequest } from '../webhooks.ts';
import { chargeObject, refundObject } from './objects.ts';

const API_VERSION = '2026-10-28.endive';

/** The events about a refund that appeared or changed. */
export function stripeEvents(ledger: Ledger, previous: Refund | null, refund: Refund): string[] {
  const isLive = refund.environment === 'live';
  return subjectsOf(ledger, previous, refund).map(([type, object]) =>
    JSON.stringify(eventObject(type, object, isLive), null, 2),
  );
}

/** Signed anew at each attempt, because receivers reject old timestamps. */
export function signedStripeEvent(
  payload: string,
  { secret = '' }: Record<string, string>,
  timestamp = Math.floor(Date.now() / 1000),
): WebhookRequest {
  const signature = createHmac('sha256', secret).update(`${timestamp}.${payload}`).digest('hex');
  return {
    body: payload,
    headers: {
      'content-type': 'application/json; charset=utf-8',
      'stripe-signature': `t=${timestamp},v1=${signature}`,
      'user-agent': 'Stripe/1.0 (sandbox)',
    },
  };
}

type Subject = [type: string, object: object];

function subjectsOf(ledger: Ledger, previous: Refund | null, refund: Refund): Subject[] {
  const object = refundObject(refund);
  if (previous === null) {
    const created: Subject = ['refund.created', object];
    return refund.status === 'succeeded' ? [created, ...eventsOfSuccess(ledger, refund)] : [created];
  }
  const updated: Subject = ['refund.updated', object];
  return refund.status === 'failed' ? [updated, ['refund.failed', object]] : [updated];
}

/** Of a refund that succeeds at once, Stripe also sends its charge, and an update once the bank's reference is known. */
function eventsOfSuccess(ledger: Ledger, refund: Refund): Subject[] {
  const payment = ledger.knownPayment(refund, refund.paymentId);
  const charge: Subject[] = payment === undefined ? [] : [['charge.refunded', chargeObject(ledger, payment)]];
  const card = { reference_status: 'available', type: 'refund' };
  const updated = { ...refundObject(refund), destination_details: { type: 'card', card } };
  return [...charge, ['refund.updated', updated]];
}

/** An event as Stripe's API gives it. */
export function eventObject(type: string, object: object, isLive: boolean) {
  return {
    id: randomId('evt_', 24),
    object: 'event',
    api_version: API_VERSION,
    created: Math.floor(Date.now() / 1000),
    data: { object },
    livemode: isLive,
    pending_webhooks: 1,
    request: { id: null, idempotency_key: null },
    type,
  };
}
