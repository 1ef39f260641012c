import type { Ledger } from '../../support/refunds/ledger.ts';
import { ledgerViolations, orphanViolations } from '../../support/refunds/ledger-rules.ts';
import { type RefundRecord, recordsOf } from '../../support/refunds/refund-records.ts';
import type { Combination } from './combinations.ts';
import { flows } from './flows.ts';
import type { Stage } from './stage.ts';
import { type Finding, timelineFindings, unless } from './timeline-findings.ts';

/**
 * Checks the refund of a combination against every promise: the rules of the ledger, its timeline and its end.
 * @returns one finding per promise.
 */
export async function promisesKept(stage: Stage, combination: Combination): Promise<Finding[]> {
  const { db } = stage.service.deps;
  const where = stage.payment;
  const refunds = await recordsOf(db, where);
  const [refund] = refunds;
  if (refund === undefined || refunds.length > 1)
    return [`requested once, on record ${refunds.length} times`];
  const events = await db.refundEvent.findMany({ where: { refundId: refund.id }, orderBy: { seq: 'asc' } });
  const payments = await db.payment.findMany({
    where: { names: { some: { name: stage.transactionId } } },
    include: { names: true },
  });
  const { environment, processor } = where;
  const movements = (await stage.ledger()).map((moved) => ({ ...moved, environment, processor }));
  return [
    null,
    unless(
      (await stage.situation())?.isOver === true,
      `still ${refund.status}, flagged because: ${refund.flagReason}`,
    ),
    ...ledgerFindings({ refunds, payments, events, movements }),
    ...timelineFindings(refund, events).map((finding) =>
      finding === null ? null : `the timeline ${finding}`,
    ),
    endFinding(refund, stage, combination),
  ];
}

/** One finding for each set of rules, or for each violation. */
function ledgerFindings(ledger: Ledger): Finding[] {
  return [ledgerViolations(ledger), orphanViolations(ledger, true)].flatMap((violations) =>
    violations.length === 0 ? [null] : violations.map(({ what }) => what),
  );
}

/** Every refund that can succeed does, and a confirmed cancellation stays cancelled. */
function endFinding(
  { status }: Pick<RefundRecord, 'status'>,
  { isConfirmedCancelled }: Stage,
  combination: Combination,
): Finding {
  if (isConfirmedCancelled) return unless(status === 'cancelled', `confirmed as cancelled, it is ${status}`);
  const ends = [
    ...flows[combination.flow].ends(combination),
    ...(combination.isCancelled ? ['cancelled'] : []),
  ];
  return unless(ends.includes(status), `ended as ${status}, not ${ends.join(' or ')}`);
}
