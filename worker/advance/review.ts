import { formatAmount } from '../../shared/money/money.ts';
import type { Database, Prisma, Refund } from '../../shared/platform/database.ts';
import {
  isLive,
  type ProcessorFailure,
  type ProcessorRefund,
} from '../../shared/processors/contract/processor.ts';
import { compare } from '../../shared/reconciliation/compare.ts';
import {
  isLetStand,
  type NamedProblem,
  reviewFlaggedEvent,
} from '../../shared/refunds/decisions/named-problem.ts';
import { wasForced } from '../../shared/refunds/decisions/person-decisions.ts';
import type { StepOutcome } from '../../shared/refunds/lifecycle/record.ts';
import { hasOwnFlag, isFlaggedForExtra, referenceTo } from '../../shared/refunds/model/refund.ts';
import type { RefundStatus } from '../../shared/refunds/model/states.ts';
import { describe, mismatchOf, retryPause } from './outcomes.ts';
import type { StepContext } from './steps.ts';

/** A review is not urgent: while the processor is unreachable, it is repeated after the pause of this many failures. */
const retryAttempt = 6;

/**
 * Reads a refund that has ended here once more, because a resync was requested. Money that came back
 * makes a completed refund failed; every other contradiction is flagged for a person, and nothing goes backwards.
 */
export async function reviewRefund(context: StepContext): Promise<StepOutcome> {
  const { deps, claim, processor, settings } = context;
  const { refund } = claim;
  const options = { timeoutMs: settings.PROCESSOR_TIMEOUT_MS };
  const reference = referenceTo(refund);
  const answer =
    refund.externalRefundId === null
      ? await processor.findRefund(reference, options)
      : await processor.getRefund(refund.externalRefundId, reference, options);
  switch (answer.kind) {
    case 'found':
      if (await isAnothers(deps.db, refund, answer.value)) return await endAbsent(context);
      return await recordReview(context, answer.value);
    case 'not-found':
    // Without the payment the processor cannot have the refund under it, which contradicts nothing.
    case 'payment-not-found':
      return await endAbsent(context);
    case 'unavailable': {
      const dueInMs = retryPause(context, retryAttempt, answer.retryAfterMs);
      return { moves: [], dueInMs };
    }
    case 'misconfigured':
      return { moves: [], dueInMs: settings.MISCONFIGURED_RETRY_MS };
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
      OR: [{ externalRefundId: found.id }, { ...mayBeVoid, work: { unknownSince: { not: null } } }],
    },
  });
  return holders > 0;
}

async function recordReview(context: StepContext, found: ProcessorRefund): Promise<StepOutcome> {
  const { deps, claim } = context;
  const { refund } = claim;
  if (refund.status === 'completed') {
    if (isLive(found)) return await endReview(context, mismatchOf(refund, found), found);
    const insisted = await wasForced(deps.db, refund);
    return insisted ? await endReview(context, denial(found), found) : reverse(found);
  }
  if (!isLive(found)) return await endReview(context, null, found);
  // What moved there without a reservation here counts as refunded outside, once the payment is read again.
  const outcome = await endReview(context, contradiction(refund.status, found), found);
  return { ...outcome, isPaymentStale: true };
}

async function endAbsent(context: StepContext): Promise<StepOutcome> {
  return await endReview(context, absence(context), null);
}

/** The money came back: the refund fails, and its amount can be refunded again. */
function reverse(found: ProcessorRefund): StepOutcome {
  const failure: ProcessorFailure = found.failure ?? {
    code: 'reversed',
    message: `The processor reports the refund as ${found.processorStatus}: the money came back.`,
  };
  return {
    moves: [{ to: 'failed', type: 'refund.failed', detail: { ...describe(found), ...failure } }],
    change: {
      processorStatus: found.processorStatus,
      failureCode: failure.code,
      failureMessage: failure.message,
    },
    dueInMs: null,
    flag: null,
  };
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
): Promise<StepOutcome> {
  const { deps, claim } = context;
  const { refund, work, now } = claim;
  const entry = (type: 'review.agreed' | 'review.flagged', detail: Prisma.InputJsonObject = {}) => ({
    to: refund.status,
    type,
    detail,
  });
  if (problem === null && hasOwnFlag(work)) {
    return { moves: [entry('review.agreed')], dueInMs: null, flag: null };
  }
  const isCovered = problem === work.flagReason || isFlaggedForExtra(work);
  const name = problem === null || isCovered ? null : compare(found, { ...refund, work }, now);
  if (problem === null || isCovered || (name !== null && (await isLetStand(deps.db, refund.id, name)))) {
    return { moves: [], dueInMs: null };
  }
  const detail = { reason: problem, ...namedAs(name) };
  return { moves: [entry(reviewFlaggedEvent, detail)], dueInMs: null, flag: problem };
}

/** What reconciliation calls the problem, so that a decision about it holds there, too. */
function namedAs(name: NamedProblem | null): Prisma.InputJsonObject {
  return name === null ? {} : { kind: name.kind, externalRefundId: name.externalRefundId };
}

function absence({ claim: { refund } }: StepContext): string | null {
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
