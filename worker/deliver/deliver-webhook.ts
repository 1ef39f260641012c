import pLimit from 'p-limit';
import { Webhook } from 'standardwebhooks';
import type { Dependencies } from '#shared/dependencies.ts';
import { shareStatement } from '#shared/platform/concurrency/shared-statement.ts';
import { warnSparingly } from '#shared/platform/log.ts';
import { endPendingDeliveries } from '#shared/webhooks/deliveries.ts';
import { bodyOf } from '#shared/webhooks/delivery-content.ts';
import { openEndpointSecrets } from '#shared/webhooks/endpoint-secrets.ts';
import { resultOf } from './attempt-result.ts';
import { claimDue, type DeliveryClaim, releaseDeliveries } from './claim-deliveries.ts';
import { type AttemptResult, type RecordedDelivery, recordAttempts } from './record-attempts.ts';
import { openTransport, type Reply, type Transport } from './transport.ts';

/** Leases at most so many deliveries. Those of one list are sent one after the other. */
type Claim = (most: number) => Promise<readonly (readonly DeliveryClaim[])[]>;

export interface WebhookSender {
  /**
   * Claims deliveries and makes their attempts. Those of one list are made one after the other, as long as their endpoint is enabled. As
   * they end, what may start at their endpoints is started as well.
   * @param claim gets how many attempts may be started now. Each waits for an endpoint most of the time, and a hanging one for long.
   */
  startUpTo(claim: Claim): Promise<void>;
  /**
   * Starts what may start at all endpoints: attempts that were requested, retries, and deliveries whose worker died. Everything is
   * decided from the database, so a duplicate, late or concurrent call is harmless.
   * @throws when the database is unavailable; a later call starts what is due.
   */
  sweep(): Promise<void>;
  /** Resolves when no attempt is under way. */
  untilIdle(): Promise<void>;
  /** Claims nothing more, gives back what is claimed and not sent, and waits for the attempts under way. */
  close(): Promise<void>;
}

/** Attempts of a process at once. */
const mostPlaces = 1_000;

/** Places that endpoints whose attempts end leave to other endpoints. */
const reservedPlaces = 100;

/** Attempts that end within this time are recorded together, and make place for the next ones together. */
const gatherMs = 5;

/** @param transport of the settings' environment by default. */
export function openWebhookSender(
  deps: Dependencies,
  transport: Transport = openTransport({
    isPublicOnly: deps.settings.NODE_ENV === 'production',
    proxies: deps.settings,
  }),
): WebhookSender {
  const warn = warnSparingly(deps.log, 'webhook attempts failed; they are repeated after their leases');
  const underWay = new Set<Promise<void>>();
  let taken = 0;
  let isClosing = false;
  // One at a time, because a claim takes places only once its statement has ended.
  const claiming = pLimit(1);
  const startUpTo = (claim: Claim, reserved = 0) =>
    claiming(async () => {
      if (!isClosing) start(await claim(Math.max(0, mostPlaces - taken - reserved)));
    });

  const track = (work: Promise<void>) => {
    const ending = work.catch(warn).finally(() => underWay.delete(ending));
    underWay.add(ending);
  };
  const recordTogether = (results: readonly AttemptResult[]) => recordAll(deps, results, track);
  const record = shareStatement(recordTogether, { gatherMs });
  const dueOf = (deliveryIds: readonly string[] | null) => async (most: number) =>
    most === 0 ? [] : (await claimDue(deps.db, deliveryIds, most)).map((claim) => [claim]);
  const wake = shareStatement(async (deliveryIds: readonly string[]) => {
    await startUpTo(dueOf(deliveryIds), reservedPlaces);
    return deliveryIds.map(() => undefined);
  });

  const attemptInOrder = async (claims: readonly DeliveryClaim[]) => {
    const since = performance.now();
    const unsent = [...claims];
    try {
      for (const claim of claims) {
        const isFirst = unsent.length === claims.length;
        if (isClosing && !isFirst) return;
        const waitedMs = isFirst ? 0 : Math.round(performance.now() - since);
        unsent.shift();
        const recorded = attempt(deps, transport, claim, waitedMs).then(record);
        const mayContinue = await recorded.finally(() => {
          taken -= 1;
        });
        if (!mayContinue) return;
        track(wake(claim.deliveryId));
      }
    } finally {
      taken -= unsent.length;
      if (unsent.length > 0) await releaseDeliveries(deps.db, unsent);
    }
  };
  const start = (claims: readonly (readonly DeliveryClaim[])[]) => {
    for (const inOrder of claims) {
      taken += inOrder.length;
      track(attemptInOrder(inOrder));
    }
  };
  const untilIdle = async () => {
    while (underWay.size > 0) await Promise.all(underWay);
  };
  return {
    startUpTo,
    sweep: () => startUpTo(dueOf(null)),
    untilIdle,
    async close() {
      isClosing = true;
      // A claim that is under way may still start something.
      await claiming(() => {});
      await untilIdle();
      await transport.close();
    },
  };
}

/** @param waitedMs how long the request waited for those of earlier events. @returns what to record. */
async function attempt(
  deps: Dependencies,
  transport: Transport,
  claim: DeliveryClaim,
  waitedMs: number,
): Promise<AttemptResult> {
  const { deliveryId, attemptNumber, url, endpoint } = claim;
  const since = performance.now();
  const reply = await send(deps, transport, claim);
  const durationMs = Math.round(performance.now() - since);
  const result = resultOf(reply, attemptNumber, deps.clock.now(), deps.random);
  recordAttemptSpan(deps, claim, result, durationMs);
  const { error, responseStatus: status } = result;
  deps.metrics.deliveries.inc({ result: resultWord(result) });
  deps.log.debug({ deliveryId, endpointId: endpoint.id, attemptNumber, status, error }, 'webhook attempt');
  return { deliveryId, attemptNumber, url, waitedMs, durationMs, ...result };
}

function resultWord({ error, retryInMs }: ReturnType<typeof resultOf>): string {
  if (error === null) return 'delivered';
  return retryInMs === null ? 'failed' : 'retried';
}

/** Test events and roots are about no refund. */
function recordAttemptSpan(
  { telemetry }: Pick<Dependencies, 'telemetry'>,
  { refundId, event, deliveryId, attemptNumber, endpoint }: DeliveryClaim,
  { responseStatus, error }: Pick<AttemptResult, 'responseStatus' | 'error'>,
  lastedMs: number,
): void {
  if (refundId === null || event === null) return;
  telemetry.refund(refundId).record({
    name: `deliver ${event.eventType}`,
    kind: 'client',
    attributes: {
      'refund.id': refundId,
      'event.type': event.eventType,
      'event.id': event.eventId,
      'delivery.id': deliveryId,
      'delivery.attempt': attemptNumber,
      'delivery.endpoint': endpoint.id,
      'http.response.status_code': responseStatus,
      'error.type': error,
    },
    lastedMs,
    hasFailed: error !== null,
  });
}

/**
 * @param track is given the work of ending a disabled endpoint's pending deliveries. There may be millions, so nothing waits for it.
 * @returns whether further requests may be sent to the endpoint of each.
 */
async function recordAll(
  { db, log }: Pick<Dependencies, 'db' | 'log'>,
  results: readonly AttemptResult[],
  track: (work: Promise<void>) => void,
): Promise<boolean[]> {
  const recorded = await recordAttempts(db, results);
  const disabled = new Map<string, RecordedDelivery['disabledReason']>();
  for (const { endpointId, disabledReason } of recorded) {
    if (disabledReason !== null) disabled.set(endpointId, disabledReason);
  }
  for (const [endpointId, reason] of disabled) {
    log.warn({ endpointId, reason }, 'a webhook endpoint was disabled');
    const ended = endPendingDeliveries(db, endpointId).catch((error: unknown) => {
      // The sweep ends what is left.
      log.warn({ err: error, endpointId }, 'the deliveries of a disabled webhook endpoint did not all end');
    });
    track(ended);
  }
  const open = new Set(recorded.filter(({ maySendMore }) => maySendMore).map(({ deliveryId }) => deliveryId));
  return results.map(({ deliveryId }) => open.has(deliveryId));
}

/** An endpoint whose secrets cannot be read gets no request; the delivery is retried like any other. */
async function send(
  deps: Pick<Dependencies, 'secrets' | 'clock' | 'log'>,
  transport: Transport,
  claim: DeliveryClaim,
): Promise<Reply> {
  try {
    const now = deps.clock.now();
    const secrets = openEndpointSecrets(deps.secrets, claim.endpoint, now);
    const { headers, body } = signedRequest(claim, secrets, now);
    return await transport.post(claim.url, headers, body);
  } catch (error) {
    deps.log.error({ err: error, deliveryId: claim.deliveryId }, 'a webhook could not be sent');
    return { status: null, body: Buffer.alloc(0), retryAfter: null, error: 'not_sent' };
  }
}

/**
 * Builds the request of an attempt, signed as Standard Webhooks demands.
 * @param secrets `whsec_...`; each adds a signature.
 * @param now the time of the attempt, in the signature.
 */
function signedRequest(claim: DeliveryClaim, secrets: readonly string[], now: Date) {
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
