import { eventColumns, type ReadEvent } from '../../shared/events/event.ts';
import { Prisma } from '../../shared/platform/database.ts';
import type { PlatformDependencies } from '../../shared/platform/dependencies.ts';
import { type SharedStatement, shareStatement } from '../../shared/platform/shared-statement.ts';
import type { AttemptError } from '../../shared/webhooks/attempt-error.ts';
import { endPendingDeliveries } from '../../shared/webhooks/deliveries.ts';
import type { SealedSecrets } from '../../shared/webhooks/endpoint-secrets.ts';
import { attemptTimeoutMs } from './transport.ts';

/** A delivery under a worker's lease, with everything that its request needs. The attempt is written. */
export interface DeliveryClaim {
  deliveryId: string;
  /** 1 for the first attempt. */
  attemptNumber: number;
  /** The id of the event, the same in every attempt. */
  webhookId: string;
  /** When the delivery was created. */
  deliveryCreatedAt: Date;
  url: string;
  endpoint: SealedSecrets;
  /** Null for a test event. */
  event: ReadEvent | null;
}

/** How an attempt ended. */
export interface AttemptResult {
  deliveryId: string;
  attemptNumber: number;
  durationMs: number;
  responseStatus: number | null;
  responseBody: string | null;
  /** Null when it succeeded. */
  error: AttemptError | null;
  /** Null when no further attempt is scheduled. */
  retryInMs: number | null;
  /** True when the endpoint asks for no more events. */
  isGone: boolean;
}

/** The two statements of an attempt. Concurrent attempts of a process share them. */
export interface DeliveryStatements {
  /** @returns null when the delivery is not to be sent now; prisma/functions/deliveries/claim_deliveries.sql says when. */
  claim: SharedStatement<string, DeliveryClaim | null>;
  /** Enqueues the deliveries that may start from then on. */
  record: SharedStatement<AttemptResult, void>;
}

/** Longer than an attempt, and the statements before and after it, can last. */
const leaseMs = attemptTimeoutMs + 15_000;

export function openDeliveryStatements(
  deps: Pick<PlatformDependencies, 'db' | 'queues' | 'log'>,
): DeliveryStatements {
  const enqueuedAt = new Map<string, number>();
  const claim = shareStatement((deliveryIds: readonly string[]) => claimAll(deps, deliveryIds));
  return {
    claim: async (deliveryId) => {
      enqueuedAt.delete(deliveryId);
      return await claim(deliveryId);
    },
    record: shareStatement(async (results) => {
      for (const id of await recordAll(deps, results)) enqueueOnce(deps, enqueuedAt, id);
      return results.map(() => undefined);
    }),
  };
}

/** A delivery whose job waits in the queue is not enqueued again within this time, unless the sweep does. */
const repeatAfterMs = 5_000;

/** Deliveries that are remembered at most. */
const mostRemembered = 10_000;

/**
 * During a backlog, every record names deliveries that wait in the queue already. The queue keeps one job for each, but they would
 * be sent to it about eight times as often.
 */
function enqueueOnce(
  { queues }: Pick<PlatformDependencies, 'queues'>,
  enqueuedAt: Map<string, number>,
  deliveryId: string,
): void {
  const now = performance.now();
  if (now - (enqueuedAt.get(deliveryId) ?? Number.NEGATIVE_INFINITY) < repeatAfterMs) return;
  if (enqueuedAt.size >= mostRemembered) enqueuedAt.clear();
  enqueuedAt.set(deliveryId, now);
  queues.enqueueDelivery(deliveryId);
}

type ClaimRow = Omit<DeliveryClaim, 'endpoint' | 'event'> &
  Omit<SealedSecrets, 'id'> & { endpointId: string } & (ReadEvent | { eventId: null });

async function claimAll(
  { db }: Pick<PlatformDependencies, 'db'>,
  deliveryIds: readonly string[],
): Promise<(DeliveryClaim | null)[]> {
  const rows = await db.$queryRaw<ClaimRow[]>`
    SELECT ${Prisma.raw(eventColumns)}, d.id AS "deliveryId", claimed.attempt_number AS "attemptNumber",
      d.event_id AS "webhookId", d.created_at AS "deliveryCreatedAt", w.url, w.id AS "endpointId",
      w.encrypted_secret AS "encryptedSecret", w.encrypted_previous_secret AS "encryptedPreviousSecret",
      w.previous_secret_expires_at AS "previousSecretExpiresAt", w.encryption_key_id AS "encryptionKeyId"
    FROM claim_deliveries(${[...deliveryIds]}::text[], ${leaseMs}::int) AS claimed
    CROSS JOIN LATERAL (SELECT (claimed.delivery).*) AS d
    CROSS JOIN LATERAL (SELECT (claimed.endpoint).*) AS w
    CROSS JOIN LATERAL (SELECT (claimed.event).*) AS e
    CROSS JOIN LATERAL (SELECT (claimed.refund).*) AS r`;
  const claims = new Map(rows.map((row) => [row.deliveryId, claimFrom(row)]));
  return deliveryIds.map((id) => {
    const claim = claims.get(id) ?? null;
    // Only one of two concurrent jobs gets the claim.
    claims.delete(id);
    return claim;
  });
}

function claimFrom(row: ClaimRow): DeliveryClaim {
  const { deliveryId, attemptNumber, webhookId, deliveryCreatedAt, url } = row;
  const endpoint = { ...row, id: row.endpointId };
  const event = row.eventId === null ? null : row;
  return { deliveryId, attemptNumber, webhookId, deliveryCreatedAt, url, endpoint, event };
}

/** @returns the deliveries that may start from then on. */
async function recordAll(
  { db, log }: Pick<PlatformDependencies, 'db' | 'log'>,
  results: readonly AttemptResult[],
): Promise<string[]> {
  const items = results.map((result) => ({
    delivery_id: result.deliveryId,
    number: result.attemptNumber,
    duration_ms: result.durationMs,
    response_status: result.responseStatus,
    response_body: result.responseBody,
    error: result.error,
    retry_in_ms: result.retryInMs,
    is_gone: result.isGone,
  }));
  const [recorded] = await db.$queryRaw<RecordRow[]>`
    SELECT * FROM record_deliveries(${JSON.stringify(items)}::jsonb)`;
  if (recorded === undefined) throw new Error('record_deliveries returned no row');
  for (const { endpoint_id: endpointId, reason } of recorded.disabled) {
    log.warn({ endpointId, reason }, 'a webhook endpoint was disabled');
    await endPendingDeliveries(db, endpointId).catch((error: unknown) => {
      // A claim ends what is left.
      log.warn({ err: error, endpointId }, 'the deliveries of a disabled webhook endpoint did not all end');
    });
  }
  return recorded.to_enqueue;
}

interface RecordRow {
  disabled: { endpoint_id: string; reason: string }[];
  to_enqueue: string[];
}
