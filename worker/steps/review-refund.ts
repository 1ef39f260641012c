import type { ProcessorFailure, ProcessorRefund } from '../../shared/processors/processor.ts';
import { claimForReview, releaseReview } from '../../shared/refunds/lease.ts';
import type { RefundStatus } from '../../shared/refunds/states.ts';
import { annotate, transition } from '../../shared/refunds/transition.ts';
import { pickTransactionKey } from '../../shared/transactions/reservation.ts';
import { throttleAccount } from './account-trouble.ts';
import { describe, mismatchOf, retryPause } from './record.ts';
import { inFuture, referenceTo, type StepContext, type StepResult, worker } from './step.ts';

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
      return await recordReview(claimed, answer.value);
    case 'not-found':
      return await endReview(claimed, absence(claimed));
    case 'unavailable':
      if (answer.rateLimited) await throttleAccount(deps, context.account, answer.retryAfterMs);
      await releaseReview(deps, refund, inFuture(deps, retryPause(deps, retryAttempt, answer.retryAfterMs)));
      return 'rest';
    case 'misconfigured':
      await releaseReview(deps, refund, inFuture(deps, deps.settings.MISCONFIGURED_RETRY_MS));
      return 'rest';
  }
}

async function recordReview(context: StepContext, found: ProcessorRefund): Promise<StepResult> {
  const { refund } = context;
  const isGone = found.state === 'failed' || found.state === 'cancelled';
  if (refund.status === 'completed') {
    return isGone ? await reverse(context, found) : await endReview(context, mismatchOf(refund, found));
  }
  if (isGone) return await endReview(context, null);
  // What moved there without a reservation here counts as refunded outside, once the payment is read again.
  await context.deps.db.transaction.updateMany({
    where: pickTransactionKey(refund),
    data: { fetchedAt: null },
  });
  return await endReview(context, contradiction(refund.status, found));
}

/** The money came back: the client must not believe in it any longer, and it can be refunded again. */
async function reverse({ deps, refund }: StepContext, found: ProcessorRefund): Promise<StepResult> {
  const failure: ProcessorFailure = found.failure ?? {
    code: 'reversed',
    message: `The processor reports the refund as ${found.processorStatus}: the money came back.`,
  };
  const { processorStatus } = found;
  const reversed = await deps.db.$transaction((tx) =>
    transition(tx, deps.clock, {
      refund,
      from: 'completed',
      to: 'failed',
      guard: { fencingToken: refund.fencingToken },
      changes: { processorStatus, failureCode: failure.code, failureMessage: failure.message },
      entry: { type: 'refund.failed', actor: worker, detail: { ...describe(found), ...failure } },
    }),
  );
  await releaseReview(deps, refund, null);
  if (reversed !== null)
    deps.log.warn({ refundId: refund.id, failure }, 'a completed refund failed at its processor');
  return 'rest';
}

/**
 * Ends a review that moves nothing.
 * @param problem what a person has to look at; null when the processor and the record agree.
 */
async function endReview({ deps, refund }: StepContext, problem: string | null): Promise<StepResult> {
  if (problem !== null && problem !== refund.flagReason) {
    await deps.db.$transaction((tx) =>
      annotate(tx, deps.clock, {
        refund,
        guard: { fencingToken: refund.fencingToken },
        changes: { flaggedAt: deps.clock.now(), flagReason: problem },
        entry: { type: 'review.flagged', actor: worker, detail: { reason: problem } },
      }),
    );
    deps.log.warn({ refundId: refund.id, problem }, 'review.flagged');
  }
  await releaseReview(deps, refund, null);
  return 'rest';
}

function absence({ refund }: StepContext): string | null {
  if (refund.status !== 'completed') return null;
  return `The processor no longer knows ${refund.externalRefundId}, which had completed.`;
}

function contradiction(status: RefundStatus, found: ProcessorRefund): string {
  return `It is ${status} here, and the processor has ${found.id} as ${found.processorStatus}: ${found.amount} ${found.currency} have moved or may yet move.`;
}
