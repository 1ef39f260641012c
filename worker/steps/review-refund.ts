import { markMisconfigured, throttleAccount } from '../../shared/accounts/account-trouble.ts';
import type { Database, Prisma, Refund } from '../../shared/db.ts';
import { formatAmount } from '../../shared/money.ts';
import { isLive, type ProcessorFailure, type ProcessorRefund } from '../../shared/processors/processor.ts';
import { compare } from '../../shared/reconciliation/compare.ts';
import {
  isLetStand,
  type NamedProblem,
  reviewFlaggedEvent,
} from '../../shared/reconciliation/named-problem.ts';
import type { RefundEventType } from '../../shared/refunds/event-types.ts';
import { hasOwnFlag, isFlaggedForExtra } from '../../shared/refunds/flag.ts';
import { claimForReview, releaseReview } from '../../shared/refunds/lease.ts';
import { wasForced } from '../../shared/refunds/person-decisions.ts';
import { referenceTo } from '../../shared/refunds/reference.ts';
import type { RefundStatus } from '../../shared/refunds/states.ts';
import { type Annotation, annotate, transition } from '../../shared/refunds/transition.ts';
import { forgetTransactions } from '../../shared/transactions/forget-transactions.ts';
import { describe, mismatchOf, retryPause } from './record.ts';
import { inFuture, type StepContext, type StepResult, worker } from './step.ts';

/** A review is not urgent: while the processor cannot be asked, it is repeated after the pause of this many retries. */
const retryAttempt = 6;

/**
 * Reads a refund that has ended here once more, because somebody says that the processor has news. Money that came back
 * makes a completed refund failed; every other contradiction is told to a person, and nothing goes backwards.
 */
export async function reviewRefund(context: StepContext): Promise<StepResult> {
  const { deps, processor } = context;
  const refund = await claimForReview(deps, context.refund);
  if (refund === null) return 'rest';
  const claimed = { ...context, refund };
  const options = { timeoutMs: deps.settings.PROCESSOR_TIMEOUT_MS };
  const reference = referenceTo(refund);
  const answer =
    refund.externalRefundId === null
      ? await processor.findRefund(reference, options)
      : await processor.getRefund(refund.externalRefundId, reference, options);
  switch (answer.kind) {
    case 'found':
      if (await isAnothers(deps.db, refund, answer.value)) return await endAbsent(claimed);
      return await recordReview(claimed, answer.value);
    case 'not-found':
    // Without its payment the processor cannot be asked for the refund, however often, and contradicts nothing.
    case 'payment-not-found':
      return await endAbsent(claimed);
    case 'unavailable':
      if (answer.rateLimited) await throttleAccount(deps, context.account, answer.retryAfterMs);
      await releaseReview(
        deps.db,
        refund,
        inFuture(deps, retryPause(deps, retryAttempt, answer.retryAfterMs)),
      );
      return 'rest';
    case 'misconfigured':
      await markMisconfigured(deps, context.account, answer.failure);
      await releaseReview(deps.db, refund, inFuture(deps, deps.settings.MISCONFIGURED_RETRY_MS));
      return 'rest';
  }
}

/**
 * True when what was found without an id is another refund of ours: a voided payment carries no name, so that it looks like
 * every refund of the whole. The other one may have it on record, or be at it.
 */
async function isAnothers(db: Database, refund: Refund, found: ProcessorRefund): Promise<boolean> {
  if (refund.externalRefundId !== null) return false;
  const { id, organizationId, environment, processor, amount, currency } = refund;
  const mayBeVoid = { transactionId: found.id, amount, currency, externalRefundId: null };
  const holders = await db.refund.count({
    where: {
      ...{ organizationId, environment, processor, id: { not: id } },
      OR: [{ externalRefundId: found.id }, { ...mayBeVoid, unknownSince: { not: null } }],
    },
  });
  return holders > 0;
}

async function recordReview(context: StepContext, found: ProcessorRefund): Promise<StepResult> {
  const { deps, refund } = context;
  if (refund.status === 'completed') {
    if (isLive(found)) return await endReview(context, mismatchOf(refund, found), found);
    const insisted = await wasForced(deps.db, refund);
    return insisted ? await endReview(context, denial(found), found) : await reverse(context, found);
  }
  if (!isLive(found)) return await endReview(context, null, found);
  // What moved there without a reservation here counts as refunded outside, once the payment is read again.
  await forgetTransactions(deps.db, deps.clock, refund, [refund.transactionId]);
  return await endReview(context, contradiction(refund.status, found), found);
}

async function endAbsent(context: StepContext): Promise<StepResult> {
  return await endReview(context, absence(context), null);
}

/** The money came back: the client must not believe in it any longer, and it can be refunded again. */
async function reverse({ deps, refund }: StepContext, found: ProcessorRefund): Promise<StepResult> {
  const failure: ProcessorFailure = found.failure ?? {
    code: 'reversed',
    message: `The processor reports the refund as ${found.processorStatus}: the money came back.`,
  };
  const { processorStatus } = found;
  const reversed = await deps.db.$transaction(async (tx) => {
    const failed = await transition(tx, deps.clock, {
      refund,
      from: 'completed',
      to: 'failed',
      guard: { fencingToken: refund.fencingToken },
      changes: { processorStatus, failureCode: failure.code, failureMessage: failure.message },
      entry: { type: 'refund.failed', actor: worker, detail: { ...describe(found), ...failure } },
    });
    await releaseReview(tx, refund, null);
    return failed;
  });
  if (reversed !== null)
    deps.log.warn({ refundId: refund.id, failure }, 'a completed refund failed at its processor');
  return 'rest';
}

/**
 * Ends a review that moves nothing.
 * @param problem what a person has to look at; null when the processor and the record agree, which ends a flag of this
 * refund's own.
 * @param found what the processor has; null for nothing.
 */
async function endReview(
  context: StepContext,
  problem: string | null,
  found: ProcessorRefund | null,
): Promise<StepResult> {
  const { deps, refund } = context;
  if (problem === null && hasOwnFlag(refund)) {
    await note(context, 'review.agreed', { flaggedAt: null, flagReason: null }, {});
  }
  const isCovered = problem === refund.flagReason || isFlaggedForExtra(refund);
  if (problem !== null && !isCovered) await flag(context, problem, compare(found, refund, deps.clock.now()));
  await releaseReview(deps.db, refund, null);
  return 'rest';
}

/**
 * Shows a problem to a person, unless one has let it stand.
 * @param name what reconciliation calls it, so that a decision about it holds there, too.
 */
async function flag(context: StepContext, problem: string, name: NamedProblem | null): Promise<void> {
  const { deps, refund } = context;
  if (name !== null && (await isLetStand(deps.db, refund.id, name))) return;
  const flagged = { flaggedAt: deps.clock.now(), flagReason: problem };
  const named = name === null ? {} : { kind: name.kind, externalRefundId: name.externalRefundId };
  await note(context, reviewFlaggedEvent, flagged, { reason: problem, ...named });
  deps.log.warn({ refundId: refund.id, problem }, 'review.flagged');
}

async function note(
  { deps, refund }: StepContext,
  type: RefundEventType,
  changes: Annotation['changes'],
  detail: Prisma.InputJsonObject,
): Promise<void> {
  const { fencingToken } = refund;
  const entry = { type, actor: worker, detail };
  await deps.db.$transaction((tx) =>
    annotate(tx, deps.clock, { refund, guard: { fencingToken }, changes, entry }),
  );
}

function absence({ refund }: StepContext): string | null {
  if (refund.status !== 'completed') return null;
  return `The processor no longer knows ${refund.externalRefundId}, which had completed.`;
}

/** A person has called it completed against the processor's word, so the same word does not undo that. */
function denial(found: ProcessorRefund): string {
  return `A person has called it completed, and the processor has ${found.id} as ${found.processorStatus}.`;
}

function contradiction(status: RefundStatus, found: ProcessorRefund): string {
  return `It is ${status} here, and the processor has ${found.id} as ${found.processorStatus}: ${formatAmount(found.amount, found.currency)} have moved or may yet move.`;
}
