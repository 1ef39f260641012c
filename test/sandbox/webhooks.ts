import { isDeepStrictEqual } from 'node:util';
import { braintreeNotifications, signedNotification } from './braintree/webhooks.ts';
import type { Ledger, Refund, WebhookEndpoint } from './ledger/ledger.ts';
import type { Sandbox } from './ledger/state.ts';
import { signedStripeEvent, stripeEvents } from './stripe/webhooks.ts';

/** Pauses before each attempt. */
const ATTEMPT_AFTER_MS = [0, 200, 1000, 3000];
const ATTEMPT_TIMEOUT_MS = 5000;

export interface WebhookRequest {
  body: string;
  headers: Record<string, string>;
}

export interface Webhooks {
  announce: Sandbox['announce'];
  stop: () => void;
}

/** Sends events to the endpoints in the settings. A restart drops undelivered events. */
export function startWebhooks(ledger: Ledger): Webhooks {
  const stopping = new AbortController();
  const timers = new Set<NodeJS.Timeout>();

  const deliver = (endpoint: WebhookEndpoint, payload: string, attempt: number) => {
    const waitMs = ATTEMPT_AFTER_MS[attempt];
    if (waitMs === undefined || stopping.signal.aborted) return;
    const timer = setTimeout(async () => {
      timers.delete(timer);
      // The endpoint may have been removed meanwhile.
      if (!ledger.settings.webhooks.some((one) => isDeepStrictEqual(one, endpoint))) return;
      if (!(await post(endpoint.url, signed(endpoint, payload), stopping.signal))) {
        deliver(endpoint, payload, attempt + 1);
      }
    }, waitMs);
    timers.add(timer);
  };

  return {
    announce: (previous, refund, cause) => {
      const endpoints = ledger.settings.webhooks.filter((endpoint) => concerns(endpoint, refund));
      if (endpoints.length === 0) return;
      const payloads = payloadsOf(ledger, previous, refund, cause);
      for (const payload of payloads) for (const endpoint of endpoints) deliver(endpoint, payload, 0);
    },
    stop: () => {
      stopping.abort();
      for (const timer of timers) clearTimeout(timer);
    },
  };
}

function payloadsOf(ledger: Ledger, ...[previous, refund, cause]: Parameters<Sandbox['announce']>): string[] {
  switch (refund.processor) {
    case 'stripe':
      return stripeEvents(ledger, previous, refund, cause);
    case 'braintree':
      return braintreeNotifications(ledger, previous, refund);
  }
}

function concerns(endpoint: WebhookEndpoint, { processor, environment }: Refund): boolean {
  return endpoint.processor === processor && endpoint.environment === environment;
}

function signed(endpoint: WebhookEndpoint, payload: string): WebhookRequest {
  switch (endpoint.processor) {
    case 'stripe':
      return signedStripeEvent(payload, endpoint.secret);
    case 'braintree':
      return signedNotification(payload, endpoint);
  }
}

async function post(url: string, { body, headers }: WebhookRequest, stopping: AbortSignal): Promise<boolean> {
  try {
    const response = await fetch(url, {
      method: 'POST',
      body,
      headers,
      redirect: 'manual',
      signal: AbortSignal.any([stopping, AbortSignal.timeout(ATTEMPT_TIMEOUT_MS)]),
    });
    await response.arrayBuffer();
    return response.ok;
  } catch {
    return false;
  }
}
