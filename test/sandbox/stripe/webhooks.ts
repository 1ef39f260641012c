import { createHmac } from 'node:crypto';
import type Stripe from 'stripe';
import type { Ledger, Payment, Refund } from '../ledger.ts';
import { randomId } from '../random-id.ts';
import type { WebhookRequest } from '../webhooks.ts';
import { disputeObject, disputeStates } from './disputes.ts';
import { chargeObject, disputeStatus, refundObject } from './objects.ts';

const API_VERSION = '2026-10-28.endive';

/** The events about a refund that appeared or changed. */
export function stripeEvents(ledger: Ledger, previous: Refund | null, refund: Refund): string[] {
  return written(subjectsOf(ledger, previous, refund), refund);
}

/** The event about a dispute that began, changed or ended. */
export function stripeDisputeEvents(previous: Payment, payment: Payment): string[] {
  const [before, now] = [disputeStatus(previous), disputeStatus(payment)];
  if (now === before || now === null) return [];
  const change = before === null ? 'created' : disputeStates[now]?.isClosed ? 'closed' : 'updated';
  return written([[`charge.dispute.${change}`, disputeObject(payment)]], payment);
}

function written(subjects: Subject[], { environment, connectedAccount }: Payment | Refund): string[] {
  return subjects.map(([type, object]) =>
    JSON.stringify(eventObject(type, object, environment === 'live', connectedAccount)),
  );
}

/**
 * Signed anew at each attempt, because receivers reject old timestamps. At Stripe the events of connected accounts go to an endpoint of
 * their own, which has a secret of its own.
 */
export function signedStripeEvent(
  payload: string,
  { secret: own = '', connectSecret = own }: Record<string, string>,
  timestamp = Math.floor(Date.now() / 1000),
): WebhookRequest {
  const secret = payload.startsWith(CONNECTED_START) ? connectSecret : own;
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

type Subject = [type: Stripe.Event.Type, object: object];

function subjectsOf(ledger: Ledger, previous: Refund | null, refund: Refund): Subject[] {
  const object = refundObject(ledger, refund);
  if (previous === null) {
    const created: Subject = ['refund.created', object];
    return refund.status === 'succeeded' ? [created, ...eventsOfSuccess(ledger, refund)] : [created];
  }
  const updated: Subject = ['refund.updated', object];
  return refund.status === 'failed' ? [updated, ['refund.failed', object]] : [updated];
}

/** Of a refund that succeeds at once, Stripe also sends its charge, and an update. */
function eventsOfSuccess(ledger: Ledger, refund: Refund): Subject[] {
  const payment = ledger.knownPayment(refund, refund.paymentId);
  const charge: Subject[] = payment === undefined ? [] : [['charge.refunded', chargeObject(ledger, payment)]];
  return [...charge, ['refund.updated', refundObject(ledger, refund)]];
}

/** How the JSON of an event of a connected account begins. */
const CONNECTED_START = '{"account":';

/** An event as Stripe's API gives it. @param account the connected account that it is about. */
export function eventObject(type: Stripe.Event.Type, object: object, isLive: boolean, account?: string) {
  return {
    ...(account !== undefined && { account }),
    id: randomId('evt_', 24),
    object: 'event',
    api_version: API_VERSION,
    created: Math.floor(Date.now() / 1000),
    data: { object },
    livemode: isLive,
    pending_webhooks: 1,
    request: { id: null, idempotency_key: null },
    type,
  } satisfies Stripe.EventBase;
}
