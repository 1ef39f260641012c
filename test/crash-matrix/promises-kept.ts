import type { Refund } from '../../shared/db.ts';
import { holdsReservation } from '../../shared/refunds/states.ts';
import type { MovedRefund } from '../sandbox/clients.ts';
import type { Combination } from './combinations.ts';
import { flows } from './flows.ts';
import type { Stage } from './stage.ts';
import { type Finding, timelineFindings, unless } from './timeline-findings.ts';

/** Processor statuses under which the money stays with the merchant. */
const unmoved = ['failed', 'canceled', 'voided', 'processor_declined', 'settlement_declined'];

/**
 * Holds the one refund of a combination against everything that is promised.
 * @returns one finding per promise.
 */
export async function promisesKept(stage: Stage, combination: Combination): Promise<Finding[]> {
  const { db } = stage.service.deps;
  const where = stage.payment;
  const refunds = await db.refund.findMany({ where });
  const [refund] = refunds;
  if (refund === undefined || refunds.length > 1)
    return [`asked for once, on record ${refunds.length} times`];
  const events = await db.refundEvent.findMany({ where: { refundId: refund.id }, orderBy: { seq: 'asc' } });
  const payment = await db.transaction.findFirst({ where });
  const live = holdsReservation(refund.status) ? refund.amount : 0n;
  return [
    null,
    unless(
      (await stage.situation())?.isOver === true,
      `still ${refund.status}, flagged because: ${refund.flagReason}`,
    ),
    unless(payment?.reserved === live, `${payment?.reserved} is reserved, ${live} is live`),
    ...movementFindings(refund, await stage.ledger()),
    ...timelineFindings(refund, events).map((finding) =>
      finding === null ? null : `the timeline ${finding}`,
    ),
    endFinding(refund, stage, combination),
  ];
}

function movementFindings(refund: Refund, entries: readonly MovedRefund[]): Finding[] {
  const told = JSON.stringify(entries);
  const isVoid = ({ id }: MovedRefund) => id === refund.transactionId;
  const standing = entries.filter((entry) => isVoid(entry) || !unmoved.includes(entry.status));
  const [only] = standing;
  const hasMoved =
    only !== undefined && BigInt(only.amount) === refund.amount && only.currency === refund.currency;
  return [
    unless(entries.length <= 1, `moved ${entries.length} times: ${told}`),
    unless(
      entries.every((entry) => isVoid(entry) || entry.key === refund.id),
      `moved under another name: ${told}`,
    ),
    refund.status === 'completed'
      ? unless(hasMoved, `completed, and did not move as asked: ${told}`)
      : unless(standing.length === 0, `${refund.status}, and moved: ${told}`),
  ];
}

/** No refund is lost: what can be carried out is; and what a client was told stays true. */
function endFinding({ status }: Refund, { wasToldCancelled }: Stage, combination: Combination): Finding {
  if (wasToldCancelled) return unless(status === 'cancelled', `told that it is cancelled, it is ${status}`);
  const ends = [
    ...flows[combination.flow].ends(combination),
    ...(combination.isCancelled ? ['cancelled'] : []),
  ];
  return unless(ends.includes(status), `ended as ${status}, not ${ends.join(' or ')}`);
}
