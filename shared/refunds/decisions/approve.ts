import { lockPayment } from '../../payments/payment.ts';
import { type AuditAction, writeAudit } from '../../platform/audit-log.ts';
import type { DatabaseTransaction, Refund, RefundEvent } from '../../platform/database.ts';
import { ServiceError } from '../../platform/errors.ts';
import { redact } from '../../platform/log.ts';
import type { RefundDependencies } from '../lifecycle/dependencies.ts';
import { type Move, moveRefund } from '../lifecycle/move.ts';

/**
 * The outcome of an approval or a rejection.
 * - `done`: this decision moved the refund.
 * - `not-pending`: the refund does not await approval, perhaps because another decision was faster; nothing changed.
 */
export type DecisionOutcome = { kind: 'done'; refund: Refund } | { kind: 'not-pending'; refund: Refund };

/**
 * True unless the actor requested the refund: an approval takes two people. A refund that a program requested may be
 * approved by anyone.
 * @param request the first entry of the refund's timeline.
 */
export function mayApprove(request: Pick<RefundEvent, 'actor'> | undefined, actor: string): boolean {
  return request?.actor !== actor;
}

/**
 * Approves a refund, which is then sent. Of several decisions about it at once, one is done.
 * @throws ServiceError insufficient_scope when the actor requested the refund.
 */
export async function approveRefund(
  deps: RefundDependencies,
  refund: Refund,
  actor: string,
): Promise<DecisionOutcome> {
  const request = await deps.db.refundEvent.findUniqueOrThrow({
    where: { refundId_seq: { refundId: refund.id, seq: 1 } },
  });
  if (!mayApprove(request, actor)) {
    const message = 'You requested this refund, so someone else must approve it. You can reject it.';
    throw new ServiceError('insufficient_scope', message);
  }
  const move: Decision = {
    refund,
    from: 'pending',
    to: 'processing',
    entry: { type: 'refund.processing', actor, detail: { approved: true } },
  };
  const outcome = await decide(deps, 'refund.approved', move, async (tx) => {
    await tx.$executeRaw`
      INSERT INTO refund_work AS w (refund_id, organization_id, environment, processor, due_at, enqueued_at)
      SELECT id, organization_id, environment, processor, service_time(), service_time() FROM refund WHERE id = ${refund.id}
      ON CONFLICT (refund_id) DO UPDATE SET due_at = excluded.due_at, enqueued_at = excluded.enqueued_at`;
  });
  if (outcome.kind === 'done') deps.queues.enqueue(outcome.refund);
  return outcome;
}

/**
 * Cancels a refund that awaits approval. It is never sent.
 * @param reason for the timeline and the audit log.
 * @throws ServiceError validation_error for a reason that is empty, too long or not printable.
 */
export async function rejectRefund(
  deps: Pick<RefundDependencies, 'db' | 'clock'>,
  refund: Refund,
  actor: string,
  reason: string,
): Promise<DecisionOutcome> {
  const words = readGivenReason(reason);
  const move: Decision = {
    refund,
    from: 'pending',
    to: 'cancelled',
    entry: { type: 'refund.cancelled', actor, detail: { approved: false, reason: words, sent: false } },
  };
  return await decide(deps, 'refund.rejected', move, async (tx) => {
    // A flag for an extra refund ends here: now that this one is cancelled, the other is flagged as `moved_after_end`.
    await tx.refundWork.deleteMany({ where: { refundId: refund.id } });
  });
}

type Decision = Move & { refund: Refund };

async function decide(
  deps: Pick<RefundDependencies, 'db' | 'clock'>,
  action: AuditAction,
  move: Decision,
  follow: (tx: DatabaseTransaction) => Promise<void>,
): Promise<DecisionOutcome> {
  const { id, organizationId } = move.refund;
  const { actor, detail = {} } = move.entry;
  const moved = await deps.db.$transaction(async (tx) => {
    await lockPayment(tx, move.refund);
    const refund = await moveRefund(tx, move);
    if (refund === null) return null;
    await follow(tx);
    await writeAudit(tx, { organizationId, actor, action, target: id, detail }, deps.clock.now());
    return refund;
  });
  if (moved !== null) return { kind: 'done', refund: moved };
  return { kind: 'not-pending', refund: await deps.db.refund.findUniqueOrThrow({ where: { id } }) };
}

/**
 * The reason that a person gives for a decision, without card numbers, for the timeline and the audit log.
 * @throws ServiceError validation_error for one that is empty, too long or not printable.
 */
export function readGivenReason(reason: string): string {
  const words = redact(reason.trim());
  if (/^[^\p{Cc}]{1,500}$/u.test(words)) return words;
  throw new ServiceError('validation_error', 'reason: must be 1 to 500 printable characters.');
}
