import type { Database, Refund } from '#shared/platform/database.ts';
import { isLive, type ProcessorRefund } from '#shared/processors/contract/processor.ts';
import { compare, type Discrepancy } from '#shared/reconciliation/compare.ts';
import { wasSettled } from '#shared/refunds/changes/flag.ts';
import type { Claim } from '#shared/refunds/lifecycle/statements.ts';
import { hasNewArrival } from '#shared/refunds/lifecycle/step-outcome.ts';
import type { ResultOfReview } from '#shared/refunds/lifecycle/step-result.ts';
import { type Flag, flagOf, isFlaggedForExtra, isSameFlag } from '#shared/refunds/model/flags.ts';
import { referenceTo } from '#shared/refunds/model/refund.ts';
import { findOfAccount } from '#shared/refunds/queries/find-refunds.ts';
import { retryPause } from './outcomes.ts';
import type { StepContext } from './steps.ts';

/** A review is not urgent: while the processor cannot be read, it is repeated after the pause of this many retries. */
const retryAttempt = 6;

/**
 * Reads a finished refund from the processor again after a requested resync. A completed refund that was reversed becomes
 * failed; every other discrepancy is flagged.
 */
export async function reviewRefund(context: StepContext): Promise<ResultOfReview> {
  const { deps, claim, processor, settings, options } = context;
  const { refund } = claim;
  const reference = referenceTo(refund, claim.externalPaymentId);
  const answer =
    refund.externalRefundId === null
      ? await processor.findRefund(reference, options)
      : await processor.getRefund(refund.externalRefundId, reference, options);
  switch (answer.kind) {
    case 'found':
      return await judge(context, (await isAnothers(deps.db, claim, answer.value)) ? null : answer.value);
    case 'not-found':
    // Without the payment there is no refund to read, and nothing that contradicts the record.
    case 'payment-not-found':
      return await judge(context, null);
    case 'unavailable':
      return { kind: 'unchanged', dueInMs: retryPause(context, retryAttempt, answer.retryAfterMs) };
    case 'misconfigured':
      return { kind: 'unchanged', dueInMs: settings.MISCONFIGURED_RETRY_MS };
  }
}

/**
 * True when what was found without an id is another refund of ours: a voided payment carries no name, so that it looks like
 * every refund of the whole. The other one may have it on record, or be at it.
 */
async function isAnothers(
  db: Database,
  { refund, externalPaymentId }: Claim,
  found: ProcessorRefund,
): Promise<boolean> {
  if (refund.externalRefundId !== null) return false;
  const others = await findOfAccount(db, refund.accountId, { externalRefundId: found.id });
  if (others.length > 0) return true;
  if (found.id !== (externalPaymentId ?? refund.transactionId)) return false;
  const unknown = { externalRefundId: null, work: { unknownSince: { not: null } } };
  const { id, paymentId, amount, currency } = refund;
  const alike = { paymentId, amount, currency, id: { not: id } };
  return (await db.refund.count({ where: { ...alike, ...unknown } })) > 0;
}

/** @param found what the processor has; null for nothing. */
async function judge(context: StepContext, found: ProcessorRefund | null): Promise<ResultOfReview> {
  const { refund, work, now } = context.claim;
  const discrepancy = compare(found, { ...refund, work }, now);
  const result = await resultOf(context, found, discrepancy);
  // What moved there without a reservation here counts as refunded outside, once the payment is read again.
  const movedUnreserved = found !== null && isLive(found) && refund.status !== 'completed';
  return { ...result, isPaymentStale: movedUnreserved };
}

async function resultOf(
  context: StepContext,
  found: ProcessorRefund | null,
  discrepancy: Discrepancy | null,
): Promise<ResultOfReview> {
  const { deps, claim } = context;
  if (discrepancy === null) return agreed(context, found);
  const { kind: reason, facts } = discrepancy;
  if (found !== null && reason === 'reversed_there' && !(await wasForced(deps.db, claim.refund))) {
    return { kind: 'reversed', found };
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

/** Processors learn the bank's reference after the refund has completed. */
function agreed({ claim: { refund } }: StepContext, found: ProcessorRefund | null): ResultOfReview {
  const { arrival } = found ?? {};
  const isNew = arrival !== undefined && hasNewArrival(refund, { arrival });
  return { kind: 'agreed', arrival: isNew ? arrival : null };
}

async function flagUnlessSettled({ deps, claim }: StepContext, flag: Flag): Promise<ResultOfReview> {
  const { refund, work } = claim;
  const isCovered = isSameFlag(flagOf(work), flag) || isFlaggedForExtra(work);
  if (isCovered || (await wasSettled(deps.db, refund.id, flag))) return { kind: 'unchanged', dueInMs: null };
  return { kind: 'differs', flag };
}
