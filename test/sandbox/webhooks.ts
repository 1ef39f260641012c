import { isDeepStrictEqual } from 'node:util';
import { Agent, request } from 'undici';
import type { Ledger, Scope, WebhookEndpoint } from './ledger.ts';
import type { SandboxProcessor } from './processor.ts';

/** Pauses before each attempt. */
const ATTEMPT_AFTER_MS = [0, 200, 1000, 3000];
/** Longer than any machine takes to answer: an event that is given up is sent no more. */
const ATTEMPT_TIMEOUT_MS = 60_000;
/** Between reports of failures. */
const REPORT_AFTER_MS = 500;

export interface WebhookRequest {
  body: string;
  headers: Record<string, string>;
}

export interface Webhooks {
  /** Sends the events of a scope, which are written only when an endpoint receives them. */
  announce: (scope: Scope, eventsOf: (webhooks: SandboxProcessor['webhooks']) => string[]) => void;
  stop: () => void;
}

/**
 * Sends events to the endpoints in the settings. A restart drops undelivered events.
 * @param report takes a line with the failures so far, when there are new ones.
 */
export function startWebhooks(ledger: Ledger, report: (line: string) => void): Webhooks {
  const agent = new Agent({ connections: 1000 });
  let isStopped = false;
  const timers = new Set<NodeJS.Timeout>();
  const failures = { attempts: 0, events: 0, isReported: true };

  const after = (ms: number, action: () => void) => {
    const timer = setTimeout(() => {
      timers.delete(timer);
      action();
    }, ms);
    timers.add(timer);
  };
  const fail = (isLast: boolean) => {
    failures.attempts += 1;
    if (isLast) failures.events += 1;
    if (!failures.isReported) return;
    failures.isReported = false;
    after(REPORT_AFTER_MS, () => {
      failures.isReported = true;
      report(`webhooks: ${failures.attempts} attempts failed, ${failures.events} events given up`);
    });
  };
  const deliver = (endpoint: WebhookEndpoint, payload: string, attempt: number) => {
    after(ATTEMPT_AFTER_MS[attempt] ?? 0, async () => {
      // The endpoint may have been removed meanwhile.
      if (!ledger.settings.webhooks.some((one) => isDeepStrictEqual(one, endpoint))) return;
      const { signed } = ledger.processor(endpoint.processor).webhooks;
      const isAccepted = await post(agent, endpoint.url, signed(payload, endpoint));
      if (isAccepted || isStopped) return;
      const isLast = attempt + 1 === ATTEMPT_AFTER_MS.length;
      fail(isLast);
      if (!isLast) deliver(endpoint, payload, attempt + 1);
    });
  };

  return {
    announce(scope, eventsOf) {
      const endpoints = ledger.settings.webhooks.filter(
        ({ processor, environment, account }) =>
          processor === scope.processor && environment === scope.environment && account === scope.account,
      );
      if (endpoints.length === 0) return;
      const payloads = eventsOf(ledger.processor(scope.processor).webhooks);
      for (const payload of payloads) for (const endpoint of endpoints) deliver(endpoint, payload, 0);
    },
    stop() {
      isStopped = true;
      for (const timer of timers) clearTimeout(timer);
      void agent.destroy();
    },
  };
}

/** True when the receiver accepted the event in time. */
async function post(dispatcher: Agent, url: string, webhook: WebhookRequest): Promise<boolean> {
  try {
    const signal = AbortSignal.timeout(ATTEMPT_TIMEOUT_MS);
    const response = await request(url, { ...webhook, method: 'POST', dispatcher, signal });
    await response.body.dump();
    return response.statusCode >= 200 && response.statusCode < 300;
  } catch {
    return false;
  }
}
