import { createHmac } from 'node:crypto';
import type { Environment, Ledger, Refund } from '../ledger/ledger.ts';
import { type Cause, randomId } from '../ledger/state.ts';
import type { WebhookRequest } from '../webhooks.ts';
import { chargeObject, refundObject } from './objects.ts';

const API_VERSION = '2026-10-28.endive';

/** The events that tell of a refund that appeared or changed. */
export function stripeEvents(
  ledger: Ledger,
  previous: Refund | null,
  refund: Refund,
  cause: Cause | null,
): string[] {
  return subjectsOf(ledger, previous, refund).map((subject) =>
    JSON.stringify(eventObject(subject, refund.environment, cause), null, 2),
  );
}

/** Signed anew at each attempt, because receivers reject old timestamps. */
export function signedStripeEvent(payload: string, { secret = '' }: Record<string, string>): WebhookRequest {
  const timestamp = Math.floor(Date.now() / 1000);
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

interface Subject {
  type: string;
  object: object;
  previousAttributes?: Record<string, unknown>;
}

function subjectsOf(ledger: Ledger, previous: Refund | null, refund: Refund): Subject[] {
  const object = refundObject(refund);
  if (previous === null) {
    const created: Subject = { type: 'refund.created', object };
    return refund.status === 'succeeded' ? [created, ...eventsOfSuccess(ledger, refund)] : [created];
  }
  const updated: Subject = {
    type: 'refund.updated',
    object,
    previousAttributes: changedAttributes(previous, refund),
  };
  return refund.status === 'failed' ? [updated, { ...updated, type: 'refund.failed' }] : [updated];
}

/** Of a refund that succeeds at once, Stripe also sends its charge, and an update once the bank's reference is known. */
function eventsOfSuccess(ledger: Ledger, refund: Refund): Subject[] {
  const payment = ledger.payment(refund, refund.paymentId);
  const charge: Subject[] =
    payment === undefined ? [] : [{ type: 'charge.refunded', object: chargeObject(ledger, payment) }];
  const destination = (reference_status: string) => ({
    destination_details: { type: 'card', card: { reference_status, type: 'refund' } },
  });
  const updated: Subject = {
    type: 'refund.updated',
    object: { ...refundObject(refund), ...destination('available') },
    previousAttributes: destination('pending'),
  };
  return [...charge, updated];
}

function eventObject(
  { type, object, previousAttributes }: Subject,
  environment: Environment,
  cause: Cause | null,
) {
  return {
    id: randomId('evt_', 24),
    object: 'event',
    api_version: API_VERSION,
    created: Math.floor(Date.now() / 1000),
    data: {
      object,
      ...(previousAttributes === undefined ? {} : { previous_attributes: previousAttributes }),
    },
    livemode: environment === 'live',
    pending_webhooks: 1,
    request: { id: cause?.requestId ?? null, idempotency_key: cause?.idempotencyKey ?? null },
    type,
  };
}

function changedAttributes(previous: Refund, refund: Refund): Record<string, unknown> {
  const now: Record<string, unknown> = refundObject(refund);
  const before: Record<string, unknown> = refundObject(previous);
  const names = new Set([...Object.keys(before), ...Object.keys(now)]);
  return Object.fromEntries(
    [...names]
      .filter((name) => JSON.stringify(before[name]) !== JSON.stringify(now[name]))
      .map((name) => [name, before[name] ?? null]),
  );
}
