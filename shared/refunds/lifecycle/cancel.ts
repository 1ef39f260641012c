import { isDatabaseUnavailable, isNothingDone, type Refund } from '../../platform/database.ts';
import { ServiceError } from '../../platform/errors.ts';
import { newId } from '../../platform/ids.ts';
import { refundFrom } from '../../platform/rows.ts';
import { processorKind } from '../../processors/registry.ts';
import { isRefundId, type ReadRefund, type RefundWithWork } from '../model/refund.ts';
import { keyReused, notKnown } from './create.ts';
import type { RefundDependencies } from './dependencies.ts';
import type { RefundWatcher, WatchedRefund } from './refund-watcher.ts';
import type { Answer } from './statements.ts';

/**
 * What became of a request to cancel, at once.
 * - `cancelled`: done, the processor never hears of it.
 * - `asked`: the processor has the refund or may have it; a worker finds out.
 * - `refused`: the refund has ended already.
 */
export interface CancelRequest {
  kind: 'cancelled' | 'asked' | 'refused';
  refund: Refund;
  /** True when an earlier request with the same key cancelled it, or asked for that. */
  isReplayed: boolean;
}

/** False when asking would be in vain: it has ended or been asked already, or its processor does not take it back any more. */
export function mayBeCancelled(refund: RefundWithWork): boolean {
  const { status, work, externalRefundId, processor } = refund;
  if (status === 'pending') return true;
  if (status !== 'processing' || work?.cancelRequestedAt != null) return false;
  return externalRefundId === null || processorKind(processor).mayTakeBack({ ...refund, externalRefundId });
}

type CancelDependencies = Pick<RefundDependencies, 'statements' | 'queues'>;

/** Whose refund is to be cancelled, and who asks for it. */
export interface Cancellation {
  refundId: string;
  organizationId: string;
  environment: Refund['environment'];
  /** For the timeline: `key:<id>` or `user:<id>`. */
  actor: string;
  idempotencyKey: string | null;
}

/**
 * Asks for a refund to be cancelled. It is cancelled here and now only while it surely is not at the processor.
 * @throws ServiceError not_found, idempotency_key_reused for a key that belongs to another request, and internal_error while
 * it is not known whether it was recorded.
 */
export async function cancelRefund(
  deps: CancelDependencies,
  { refundId, organizationId, environment, actor, idempotencyKey }: Cancellation,
): Promise<CancelRequest> {
  const answer = await ask(deps, {
    refund_id: isRefundId(refundId) ? refundId : null,
    organization_id: organizationId,
    environment,
    actor,
    key: idempotencyKey,
    event_id: newId('evt'),
    // Of a program the timeline tells.
    audit_id: actor.startsWith('user:') ? newId('aud') : null,
  });
  if (answer.outcome === 'missing') throw new ServiceError('not_found', 'No such refund.');
  if (answer.outcome === 'reused') throw keyReused();
  const refund = refundFrom(answer.refund ?? {});
  const isReplayed = answer.outcome === 'replayed';
  const kind = isReplayed ? kindNow(refund) : (answer.outcome as CancelRequest['kind']);
  if (kind === 'asked') deps.queues.enqueue(refund);
  return { kind, refund, isReplayed };
}

async function ask({ statements }: Pick<RefundDependencies, 'statements'>, asked: object): Promise<Answer> {
  try {
    return await statements.cancel(asked);
  } catch (error) {
    throw isDatabaseUnavailable(error) && !isNothingDone(error) ? notKnown(error) : error;
  }
}

function kindNow({ status }: Refund): CancelRequest['kind'] {
  if (status === 'cancelled') return 'cancelled';
  return status === 'processing' ? 'asked' : 'refused';
}

/**
 * What became of a request to cancel, for a client who waits for the verdict.
 * - `cancelled`: the processor confirmed it, or never hears of it.
 * - `refused`: the refund has ended otherwise, or the processor does not take it back.
 * - `undecided`: the processor has not confirmed in time; the refund tells later.
 */
export interface CancelVerdict {
  kind: 'cancelled' | 'refused' | 'undecided';
  /** As last seen. */
  refund: ReadRefund;
  isReplayed: boolean;
}

/**
 * Asks for a refund to be cancelled, and waits for the processor's word where it takes one.
 * @throws ServiceError as `cancelRefund` does.
 */
export async function cancelAndWait(
  deps: CancelDependencies & { watcher: RefundWatcher },
  asked: Cancellation,
  waitMs: number,
): Promise<CancelVerdict> {
  const { kind, refund, isReplayed } = await cancelRefund(deps, asked);
  if (kind !== 'asked') return { kind, refund, isReplayed };
  const latest = await deps.watcher.waitFor(refund.id, isDecided, waitMs);
  if (latest === null) return { kind: 'undecided', refund, isReplayed };
  if (latest.status === 'cancelled') return { kind: 'cancelled', refund: latest, isReplayed };
  return { kind: isDecided(latest) ? 'refused' : 'undecided', refund: latest, isReplayed };
}

/** The worker takes the request away when the processor has refused it. */
function isDecided({ status, isToBeCancelled }: WatchedRefund): boolean {
  return status !== 'processing' || !isToBeCancelled;
}
