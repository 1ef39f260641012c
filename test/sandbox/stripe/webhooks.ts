import { createHmac } from 'node:crypto';
import type { Refund } from '../ledger.ts';
import { type Cause, randomId } from '../state.ts';
import type { WebhookRequest } from '../webhooks.ts';
import { refundObject } from './objects.ts';

const API_VERSION = '2026-10-28.endive';

/** The events that tell of a refund that appeared or changed. */
export function stripeEvents(previous: Refund | null, refund: Refund, cause: Cause | null): string[] {
  return eventTypes(previous, refund).map((type) =>
    JSON.stringify(eventObject(type, previous, refund, cause), null, 2),
  );
}

/** Signed anew at each attempt, because receivers reject old timestamps. */
export function signedStripeEvent(payload: string, secret: string): WebhookRequest {
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

function eventTypes(previous: Refund | null, refund: Refund): string[] {
  if (previous === null) return ['refund.created'];
  return refund.status === 'failed' ? ['refund.updated', 'refund.failed'] : ['refund.updated'];
}

function eventObject(type: string, previous: Refund | null, refund: Refund, cause: Cause | null) {
  return {
    id: randomId('evt_', 24),
    object: 'event',
    api_version: API_VERSION,
    created: Math.floor(Date.now() / 1000),
    data: {
      object: refundObject(refund),
      ...(previous === null ? {} : { previous_attributes: changedAttributes(previous, refund) }),
    },
    livemode: refund.environment === 'live',
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
