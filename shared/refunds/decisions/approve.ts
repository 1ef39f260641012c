import { type AuditAction, writeAudit } from '../../audit/audit-log.ts';
import { lockPaymentOf, type PaymentKey } from '../../payments/payment.ts';
import type { DatabaseTransaction, Refund, Stores } from '../../platform/database.ts';
import { ServiceError } from '../../platform/errors.ts';
import { isPrintable } from '../../platform/formats/printable.ts';
import { redact } from '../../platform/log.ts';
import type { RefundQueues } from '../../platform/queues.ts';
import { loadAccount } from '../../processors/accounts/account.ts';
import { isUnusableCredentials } from '../../processors/accounts/connections.ts';
import { type Move, moveRefund } from '../changes/move.ts';
import { recordPayment } from '../changes/record-payment.ts';
import { dropWork, isNotSent, startWork } from '../changes/work.ts';
import type { PaymentDependencies } from '../lifecycle/find-payment.ts';
import { isFlaggedForExtra } from '../model/flags.ts';
import { maybeSent } from '../model/refusals.ts';
import { readApprovalRefusal } from './four-eyes.ts';

/** What a decision needs to know of a refund. */
export type DecidedRefund = Pick<Refund, 'id' | 'organizationId' | 'environment'>;

/**
 * The outcome of an approval or a rejection. Unless it is `done`, nothing was changed.
 * - `done`: this decision moved the refund.
 * - `not-pending`: the refund does not await approval, for example because another decision came first.
 * - `flagged`: the processor has a second refund with the reference of this one. It can be approved once that flag is dismissed.
 * - `disputed`: the payment was charged back. It can be approved once the processor says otherwise.
 */
export interface DecisionOutcome {
  kind: 'done' | 'not-pending' | 'flagged' | 'disputed';
  refund: Refund;
}

/** What approves a refund needs. */
export interface ApprovalDependencies extends PaymentDependencies, Stores {
  queues: RefundQueues;
}

/**
 * Approves a refund, which is then sent. Of several decisions about it at once, one is done.
 * @throws ServiceError insufficient_scope when the approver and the requester may be one person; see four-eyes.ts.
 */
export async function approveRefund(
  deps: ApprovalDependencies,
  refund: DecidedRefund,
  actor: string,
): Promise<DecisionOutcome> {
  const requested = await deps.db.refundEvent.findUniqueOrThrow({
    where: { refundId_seq: { refundId: refund.id, seq: 1 } },
    select: { actor: true, refund: true },
  });
  // First, because no one may approve it, whoever asks.
  if (requested.refund.status !== 'pending') return { kind: 'not-pending', refund: requested.refund };
  const refusal = await readApprovalRefusal(deps, requested.refund, requested.actor, actor);
  if (refusal !== null) throw new ServiceError('insufficient_scope', refusal);
  await readIfDoubtful(deps, requested.refund);
  const move: Decision = {
    refund,
    from: 'pending',
    to: 'processing',
    entry: { type: 'refund.processing', actor, detail: { approved: true } },
  };
  const outcome = await decide(deps, 'refund.approved', move, startWork);
  if (outcome.kind === 'done') deps.queues.wake(outcome.refund.processor);
  return outcome;
}

/**
 * Reads the payment of a refund that is about to be approved, if it was charged back or something has changed about it. What is stored
 * counts while its processor does not answer.
 */
async function readIfDoubtful(deps: PaymentDependencies, refund: PaymentKey): Promise<void> {
  const { payment, now } = await deps.lookups.payment(refund);
  const isStale = payment !== null && payment.amount !== null && payment.fetchedAt === null;
  if (!isStale && payment?.disputedAt == null) return;
  const transactionId = payment?.externalId ?? refund.transactionId;
  try {
    const processor = await deps.connections.connect(await loadAccount(deps.db, refund));
    const timeoutMs = deps.settings.TRANSACTION_READ_TIMEOUT_MS;
    const answer = await processor.getPayment(transactionId, { timeoutMs });
    if (answer.kind === 'found') await recordPayment(deps.db, refund, answer.value, now);
  } catch (error) {
    if (!isUnusableCredentials(error)) throw error;
  }
}

/**
 * Cancels a refund that awaits approval. It is never sent.
 * @param reason for the timeline and the audit log; null for none.
 * @throws ServiceError validation_error for a reason that is empty, too long or not printable; service_unavailable while a recovery is
 * required.
 */
export async function rejectRefund(
  deps: Stores,
  refund: DecidedRefund,
  actor: string,
  reason: string | null,
): Promise<DecisionOutcome> {
  const given = reason === null ? {} : { reason: readGivenReason(reason) };
  const move: Decision = {
    refund,
    from: 'pending',
    to: 'cancelled',
    entry: { type: 'refund.cancelled', actor, detail: { approved: false, ...given, sent: false } },
  };
  // A flag for an extra refund ends as well: now that this one is cancelled, the other is flagged as `moved_after_end`.
  return await decide(deps, 'refund.rejected', move, dropWork);
}

type Decision = Move & { refund: DecidedRefund };

async function decide(
  deps: Stores,
  action: AuditAction,
  move: Decision,
  changeWork: (tx: DatabaseTransaction, refund: Refund) => Promise<void>,
): Promise<DecisionOutcome> {
  const { id, organizationId } = move.refund;
  const { actor, detail = {} } = move.entry;
  const done = await deps.db.$transaction(async (tx) => {
    const paymentId = await lockPaymentOf(tx, move.refund);
    const obstacle = move.to === 'processing' ? await findObstacle(tx, id, paymentId) : null;
    if (obstacle !== null) return obstacle;
    // Asked while it is pending.
    const isUnsent = move.to === 'cancelled' && (await isNotSent(tx, move.refund));
    const refund = await moveRefund(tx, move);
    if (refund === null) return 'not-pending';
    if (move.to === 'cancelled' && !isUnsent) throw maybeSent();
    await changeWork(tx, refund);
    await writeAudit(tx, { organizationId, actor, action, target: id, detail }, deps.clock.now());
    return refund;
  });
  if (typeof done === 'object') return { kind: 'done', refund: done };
  const refund = await deps.db.refund.findUniqueOrThrow({ where: { id } });
  return { kind: refund.status === 'pending' ? done : 'not-pending', refund };
}

/** Why a refund cannot be approved now; null when it can. Both are noted under the payment's lock as well. */
async function findObstacle(
  tx: DatabaseTransaction,
  refundId: string,
  paymentId: bigint,
): Promise<'flagged' | 'disputed' | null> {
  if (isFlaggedForExtra(await tx.refundWork.findUnique({ where: { refundId } }))) return 'flagged';
  const { disputedAt } = await tx.payment.findUniqueOrThrow({
    where: { id: paymentId },
    select: { disputedAt: true },
  });
  return disputedAt === null ? null : 'disputed';
}

/** What is wrong with the reason for a decision, as the end of a sentence; null when nothing is. */
export function checkGivenReason(reason: string): string | null {
  return isPrintable(withoutSecrets(reason), { max: 500 }) ? null : 'must be 1 to 500 printable characters';
}

/**
 * The reason that a person gives for a decision, without card numbers, for the timeline and the audit log.
 * @throws ServiceError validation_error as `checkGivenReason`.
 */
export function readGivenReason(reason: string): string {
  const problem = checkGivenReason(reason);
  if (problem !== null) throw new ServiceError('validation_error', `reason: ${problem}.`);
  return withoutSecrets(reason);
}

function withoutSecrets(reason: string): string {
  return redact(reason.trim());
}
