import { isDatabaseUnavailable, isNothingDone, type Refund } from '../../platform/database.ts';
import { ServiceError } from '../../platform/errors.ts';
import { newId } from '../../platform/ids.ts';
import type { RefundQueues } from '../../platform/queues.ts';
import { requestDigestOf } from '../../platform/secrets/request-digest.ts';
import { processorKind } from '../../processors/registry.ts';
import { isRefundId, type ReadRefund, type RefundDetails } from '../model/refund.ts';
import { keyReused, maybeSent, notKnown } from '../model/refusals.ts';
import type { RefundWatcher, WatchedRefund } from './refund-watcher.ts';
import type { RefundStatements } from './statements.ts';

/**
 * The result of a request to cancel.
 * - `cancelled`: nothing was sent to the processor, or it confirmed.
 * - `requested`: the processor has the refund or may have it, and has not confirmed yet; a worker goes on.
 * - `refused`: the refund has ended otherwise, or the processor refused.
 */
export interface CancelVerdict {
  kind: 'cancelled' | 'requested' | 'refused';
  /** As last read. */
  refund: ReadRefund;
  /** True when an earlier request with the same key cancelled it or requested that. */
  isReplayed: boolean;
}

/** True while a cancellation can succeed: the processor does not have the refund, or cancels it in its last known state. */
export function canBeCancelled(refund: RefundDetails): boolean {
  const { status, externalRefundId, processor } = refund;
  if (status !== 'processing') return status === 'pending';
  return externalRefundId === null || processorKind(processor).mayCancel({ ...refund, externalRefundId });
}

interface CancelDependencies {
  statements: RefundStatements;
  queues: RefundQueues;
}

/** A request to cancel a refund. */
interface Cancellation {
  refundId: string;
  organizationId: string;
  environment: Refund['environment'];
  /** For the timeline: `key:<id>` or `user:<id>`. */
  actor: string;
  idempotencyKey: string | null;
}

/** What `cancel_refund` takes. */
export type CancellationItem = Pick<Cancellation, 'organizationId' | 'environment' | 'actor'> & {
  refundId: string | null;
  key: string | null;
  eventId: string;
  auditId: string | null;
};

export type CancellationResult =
  | { outcome: 'cancelled' | 'requested' | 'refused' | 'replayed'; refund: Refund }
  | { outcome: 'missing' }
  | { outcome: 'reused' }
  | { outcome: 'recovering' };

/**
 * Cancels a refund that is not at the processor, or requests its cancellation.
 * @throws ServiceError not_found; idempotency_key_reused for a key of another request; service_unavailable for one that awaits approval
 * while a recovery is required; internal_error when it is unknown whether the request was stored.
 */
export async function cancelRefund(
  deps: CancelDependencies,
  { refundId, organizationId, environment, actor, idempotencyKey }: Cancellation,
): Promise<CancelVerdict> {
  const asked = {
    refundId: isRefundId(refundId) ? refundId : null,
    organizationId,
    environment,
    actor,
    key: idempotencyKey && requestDigestOf({ organizationId, environment }, idempotencyKey),
    eventId: newId('evt'),
    // Requests of API keys are in the timeline only.
    auditId: actor.startsWith('user:') ? newId('aud') : null,
  };
  const answer = await deps.statements.cancel(asked).catch((error: unknown) => {
    throw isDatabaseUnavailable(error) && !isNothingDone(error) ? notKnown(error) : error;
  });
  if (answer.outcome === 'missing') throw new ServiceError('not_found', 'Refund not found.');
  if (answer.outcome === 'reused') throw keyReused();
  if (answer.outcome === 'recovering') throw maybeSent();
  const { outcome, refund } = answer;
  const isReplayed = outcome === 'replayed';
  const kind = outcome === 'replayed' ? kindNow(refund) : outcome;
  if (kind === 'requested') deps.queues.wake(refund.processor);
  return { kind, refund, isReplayed };
}

function kindNow({ status }: Refund): CancelVerdict['kind'] {
  if (status === 'cancelled') return 'cancelled';
  return status === 'processing' ? 'requested' : 'refused';
}

/**
 * Cancels a refund, and waits for the processor's confirmation where it is needed.
 * @throws ServiceError as `cancelRefund` does.
 */
export async function cancelAndWait(
  deps: CancelDependencies & { watcher: RefundWatcher },
  asked: Cancellation,
  waitMs: number,
): Promise<CancelVerdict> {
  const verdict = await cancelRefund(deps, asked);
  if (verdict.kind !== 'requested') return verdict;
  const latest = await deps.watcher.waitFor(verdict.refund.id, isDecided, waitMs);
  if (latest === null) return verdict;
  const decided = latest.status === 'cancelled' ? 'cancelled' : 'refused';
  return { ...verdict, kind: isDecided(latest) ? decided : 'requested', refund: latest };
}

/** When the processor refuses, the worker ends the requested cancellation. */
function isDecided({ status, isToBeCancelled }: WatchedRefund): boolean {
  return status !== 'processing' || !isToBeCancelled;
}
