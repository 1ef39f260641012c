import { isDatabaseUnavailable, isNothingDone, type Refund } from '../../db.ts';
import type { Dependencies } from '../../dependencies.ts';
import { ServiceError } from '../../errors.ts';
import { newId } from '../../ids.ts';
import { processorKind } from '../../processors/registry.ts';
import { isRefundId } from '../find-refunds.ts';
import { refundFrom } from '../model/rows.ts';
import { keyReused, notKnown } from './create.ts';
import type { RefundWithWork } from './flag.ts';
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
  deps: Pick<Dependencies, 'statements' | 'queues'>,
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
  if (kind === 'asked') deps.queues.wake(refund);
  return { kind, refund, isReplayed };
}

async function ask({ statements }: Pick<Dependencies, 'statements'>, asked: object): Promise<Answer> {
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
