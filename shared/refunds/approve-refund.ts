import { type AuditAction, writeAudit } from '../audit-log.ts';
import type { Refund, RefundEvent } from '../db.ts';
import type { Dependencies } from '../dependencies.ts';
import { ServiceError } from '../errors.ts';
import { readGivenReason } from './given-reason.ts';
import { type Transition, transition } from './transition.ts';

/**
 * What became of a person's decision.
 * - `done`: it was this decision that moved the refund.
 * - `not-pending`: the refund does not wait for approval, perhaps because somebody else was faster; nothing changed.
 */
export type DecisionOutcome = { kind: 'done'; refund: Refund } | { kind: 'not-pending'; refund: Refund };

/**
 * True when whoever this is may approve what was asked for like that. Nobody approves what the same one has asked for, so
 * that it takes two people; what a program asked for, any person may approve.
 * @param request the first entry of the refund's timeline.
 */
export function mayApprove(request: Pick<RefundEvent, 'actor'> | undefined, actor: string): boolean {
  return request?.actor !== actor;
}

/**
 * Lets a refund that waits for approval be sent. Of several decisions about it at once, one is done.
 * @throws ServiceError insufficient_scope for who asked for it.
 */
export async function approveRefund(
  deps: Dependencies,
  refund: Refund,
  actor: string,
): Promise<DecisionOutcome> {
  const request = await deps.db.refundEvent.findUniqueOrThrow({
    where: { refundId_seq: { refundId: refund.id, seq: 1 } },
  });
  if (!mayApprove(request, actor)) {
    const message =
      'You asked for this refund yourself, so that somebody else has to approve it. You may reject it.';
    throw new ServiceError('insufficient_scope', message);
  }
  const outcome = await decide(deps, 'refund.approved', {
    refund,
    from: 'pending',
    to: 'processing',
    changes: { nextActionAt: deps.clock.now() },
    entry: { type: 'refund.processing', actor, detail: { approved: true } },
  });
  if (outcome.kind === 'done') deps.queues.wake(outcome.refund);
  return outcome;
}

/**
 * Cancels a refund that waits for approval; the processor never hears of it.
 * @param reason for the timeline and the audit log.
 * @throws ServiceError validation_error for a reason that is empty, too long or not printable.
 */
export async function rejectRefund(
  deps: Pick<Dependencies, 'db' | 'clock'>,
  refund: Refund,
  actor: string,
  reason: string,
): Promise<DecisionOutcome> {
  const words = readGivenReason(reason);
  return await decide(deps, 'refund.rejected', {
    refund,
    from: 'pending',
    to: 'cancelled',
    // Another refund under its name is what moved of it, then, and told as that.
    changes: { extraRefundId: null },
    entry: { type: 'refund.cancelled', actor, detail: { approved: false, reason: words, sent: false } },
  });
}

async function decide(
  deps: Pick<Dependencies, 'db' | 'clock'>,
  action: AuditAction,
  move: Transition & { refund: Refund },
): Promise<DecisionOutcome> {
  const { id, organizationId } = move.refund;
  const { actor, detail = {} } = move.entry;
  const moved = await deps.db.$transaction(async (tx) => {
    const refund = await transition(tx, deps.clock, move);
    if (refund === null) return null;
    await writeAudit(tx, { organizationId, actor, action, target: id, detail }, deps.clock.now());
    return refund;
  });
  if (moved !== null) return { kind: 'done', refund: moved };
  return { kind: 'not-pending', refund: await deps.db.refund.findUniqueOrThrow({ where: { id } }) };
}
