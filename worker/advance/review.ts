import type { Database, Refund } from '#shared/platform/database.ts';
import { isLive, type ProcessorRefund } from '#shared/processors/contract/processor.ts';
import { compare, type Discrepancy } from '#shared/reconciliation/compare.ts';
import { wasSettled } from '#shared/refunds/lifecycle/flag.ts';
import type { StepOutcome } from '#shared/refunds/lifecycle/record.ts';
import type { Claim } from '#shared/refunds/lifecycle/statements.ts';
import {
  type Flag,
  factsOf,
  flagOf,
  hasOwnFlag,
  isFlaggedForExtra,
  isSameFlag,
} from '#shared/refunds/model/flags.ts';
import { referenceTo } from '#shared/refunds/model/refund.ts';
import { findOfAccount } from '#shared/refunds/queries/find-refunds.ts';
import { describe, hasNewArrival, retryPause } from './outcomes.ts';
import type { StepContext } from './steps.ts';

/** A review is not urgent: while the processor cannot be read, it is repeated after the pause of this many retries. */
const retryAttempt = 6;

/**
 * Reads a finished refund from the processor again after a requested resync. A completed refund that was reversed becomes
 * failed; every other discrepancy is flagged.
 */
export async function reviewRefund(context: StepContext): Promise<StepOutcome> {
  const { deps, claim, processor, settings, options } = context;
  const { refund } = claim;
  const reference = referenceTo(refund);
  const answer =
    refund.externalRefundId === null
      ? await processor.findRefund(reference, options)
      : await processor.getRefund(refund.externalRefundId, reference, options);
  switch (answer.kind) {
    case 'found':
      return await judge(context, (await isAnothers(deps.db, refund, answer.value)) ? null : answer.value);
    case 'not-found':
    // Without the payment there is no refund to read, and nothing that contradicts the record.
    case 'payment-not-found':
      return await judge(context, null);
    case 'unavailable':
      return { ...unchanged, dueInMs: retryPause(context, retryAttempt, answer.retryAfterMs) };
    case 'misconfigured':
      return { ...unchanged, dueInMs: settings.MISCONFIGURED_RETRY_MS };
  }
}

/** A refund that has ended waits for nothing. */
const unchanged = { moves: [], waitingFor: null };

/**
 * True when what was found without an id is another refund of ours: a voided payment carries no name, so that it looks like
 * every refund of the whole. The other one may have it on record, or be at it.
 */
async function isAnothers(db: Database, refund: Refund, found: ProcessorRefund): Promise<boolean> {
  if (refund.externalRefundId !== null) return false;
  const others = await findOfAccount(db, refund, { externalRefundId: found.id });
  if (others.length > 0) return true;
  if (found.id !== refund.transactionId) return false;
  const unknown = { externalRefundId: null, work: { unknownSince: { not: null } } };
  const { id, paymentId, amount, currency } = refund;
  const alike = { paymentId, amount, currency, id: { not: id } };
  return (await db.refund.count({ where: { ...alike, ...unknown } })) > 0;
}

/** @param found what the processor has; null for nothing. */
async function judge(context: StepContext, found: ProcessorRefund | null): Promise<StepOutcome> {
  const { refund, work, now } = context.claim;
  const discrepancy = compare(found, { ...refund, work }, now);
  const outcome = await outcomeOf(context, found, discrepancy);
  // What moved there without a reservation here counts as refunded outside, once the payment is read again.
  const movedUnreserved = found !== null && isLive(found) && refund.status !== 'completed';
  return movedUnreserved ? { ...outcome, isPaymentStale: true } : outcome;
}

async function outcomeOf(
  context: StepContext,
  found: ProcessorRefund | null,
  discrepancy: Discrepancy | null,
): Promise<StepOutcome> {
  const { deps, claim } = context;
  if (discrepancy === null) return agreed(context, found);
  const { kind: reason, facts } = discrepancy;
  if (found !== null && reason === 'reversed_there' && !(await wasForced(deps.db, claim.refund))) {
    return reversed(claim, found);
  }
  return await flagUnlessSettled(context, { reason, facts });
}

/** True when a person has completed the refund against the processor's word, so the same word does not undo that. */
async function wasForced(db: Database, { id }: Refund): Promise<boolean> {
  const lastMove = await db.refundEvent.findFirst({
    where: { refundId: id, previousStatus: { not: null } },
    orderBy: { seq: 'desc' },
  });
  return (lastMove?.detail as { forced?: boolean } | undefined)?.forced === true;
}

/** The processor reversed the refund: it fails, its amount can be refunded again, and the customer has not got the money. */
function reversed({ refund }: Claim, found: ProcessorRefund): StepOutcome {
  const { code, message } = found.failure ?? {
    code: 'reversed',
    message: `The processor reversed the refund (status: ${found.processorStatus}).`,
  };
  return {
    moves: [{ to: 'failed', type: 'refund.failed', detail: { ...describe(found), code, message } }],
    change: { processorStatus: found.processorStatus, failureCode: code, failureMessage: message },
    dueInMs: null,
    waitingFor: null,
    flag: { reason: 'returned', facts: { ...factsOf(refund, found), message } },
  };
}

/** Processors learn the bank's reference after the refund has completed. */
function agreed({ claim: { refund, work } }: StepContext, found: ProcessorRefund | null): StepOutcome {
  const { arrival } = found ?? {};
  const isNew = arrival !== undefined && hasNewArrival(refund, { arrival });
  const agrees = { to: refund.status, type: 'review.agreed' } as const;
  const known = { to: refund.status, type: 'arrival.known' } as const;
  return {
    moves: [...(hasOwnFlag(work) ? [agrees] : []), ...(isNew ? [{ ...known, detail: { ...arrival } }] : [])],
    ...(isNew ? { change: { arrival } } : {}),
    dueInMs: null,
    waitingFor: null,
    ...(hasOwnFlag(work) ? { flag: null } : {}),
  };
}

async function flagUnlessSettled({ deps, claim }: StepContext, flag: Flag): Promise<StepOutcome> {
  const { refund, work } = claim;
  const isCovered = isSameFlag(flagOf(work), flag) || isFlaggedForExtra(work);
  if (isCovered || (await wasSettled(deps.db, refund.id, flag))) return { ...unchanged, dueInMs: null };
  return {
    moves: [{ to: refund.status, type: 'review.flagged', detail: { flag } }],
    dueInMs: null,
    waitingFor: null,
    flag,
  };
}
