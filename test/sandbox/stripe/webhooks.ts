import { createHmac } from 'node:crypto';
import type { Ledger, Refund } from '../ledger.ts';
import { type Cause, randomId } from '../state.ts';
import { refundObject } from './objects.ts';

const API_VERSION = '2026-10-28.endive';
/** Waits before each attempt; after the last one the event is given up. */
const ATTEMPT_AFTER_MS = [0, 200, 1000, 3000];
const ATTEMPT_TIMEOUT_MS = 5000;

export interface StripeWebhooks {
  announce: (previous: Refund | null, refund: Refund, cause: Cause | null) => void;
  stop: () => void;
}

/** Sends refund events to the endpoint in the settings. Undelivered ones do not survive a restart: they are only hints. */
export function startStripeWebhooks(ledger: Ledger): StripeWebhooks {
  const stopping = new AbortController();
  const timers = new Set<NodeJS.Timeout>();

  const deliver = (payload: string, attempt: number) => {
    const waitMs = ATTEMPT_AFTER_MS[attempt];
    if (waitMs === undefined || stopping.signal.aborted) return;
    const timer = setTimeout(async () => {
      timers.delete(timer);
      const { webhook } = ledger.settings;
      if (webhook === null) return;
      if (!(await post(webhook, payload, stopping.signal))) deliver(payload, attempt + 1);
    }, waitMs);
    timers.add(timer);
  };

  return {
    announce: (previous, refund, cause) => {
      if (refund.processor !== 'stripe' || ledger.settings.webhook === null) return;
      for (const type of eventTypes(previous, refund)) {
        deliver(JSON.stringify(eventObject(type, previous, refund, cause), null, 2), 0);
      }
    },
    stop: () => {
      stopping.abort();
      for (const timer of timers) clearTimeout(timer);
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

/** Signed anew at each attempt, because receivers reject old timestamps. */
async function post(
  webhook: { url: string; secret: string },
  payload: string,
  stopping: AbortSignal,
): Promise<boolean> {
  const timestamp = Math.floor(Date.now() / 1000);
  const signature = createHmac('sha256', webhook.secret).update(`${timestamp}.${payload}`).digest('hex');
  try {
    const response = await fetch(webhook.url, {
      method: 'POST',
      body: payload,
      headers: {
        'content-type': 'application/json; charset=utf-8',
        'stripe-signature': `t=${timestamp},v1=${signature}`,
        'user-agent': 'Stripe/1.0 (sandbox)',
      },
      redirect: 'manual',
      signal: AbortSignal.any([stopping, AbortSignal.timeout(ATTEMPT_TIMEOUT_MS)]),
    });
    await response.arrayBuffer();
    return response.ok;
  } catch {
    return false;
  }
}
