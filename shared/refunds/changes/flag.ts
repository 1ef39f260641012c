import { lockPaymentOf } from '../../payments/payment.ts';
import type { DatabaseTransaction, Refund } from '../../platform/database.ts';
import { type Facts, type Flag, flagOf } from '../model/flags.ts';
import type { RefundWithWork } from '../model/refund.ts';
import { isTerminal } from '../model/states.ts';
import { noteOnRefund, type TimelineEntry } from './move.ts';
import { flagForExtra, lockWork, requestResync, unflag } from './work.ts';

/**
 * Flags a refund for another one that the processor has under its name, unless it is flagged for one already.
 * @returns false when the refund has moved meanwhile or is flagged so, and nothing was changed.
 */
export async function flagExtraRefund(
  tx: DatabaseTransaction,
  refund: Refund,
  facts: Facts,
  actor: string,
): Promise<boolean> {
  // Every status change takes one of these locks, so the status cannot change before the flag is written.
  await lockPaymentOf(tx, refund);
  await lockWork(tx, refund);
  const flag = { reason: 'extra_refund', facts } as const;
  if (!(await flagForExtra(tx, refund, flag))) return false;
  await noteOnRefund(tx, refund, { type: 'reconciliation.flagged', actor, detail: { flag } });
  return true;
}

/**
 * True when a person has dismissed a flag of this kind about the same refund at the processor, or resolved it against the
 * evidence: it is not raised again. Read from the refund's timeline, which cannot be changed.
 */
export async function wasSettled(
  tx: DatabaseTransaction,
  refundId: string,
  { reason, facts }: Flag,
): Promise<boolean> {
  const { externalRefundId } = facts;
  if (externalRefundId === undefined) return false;
  // A resolution that agreed with the processor settles nothing if the processor changes its mind.
  const deliberately = [{ type: 'flag.dismissed' }, { detail: { path: ['forced'], equals: true } }];
  const settled = await tx.refundEvent.count({
    where: {
      refundId,
      ...(reason === 'extra_refund' ? {} : { OR: deliberately }),
      AND: [
        { detail: { path: ['settled', 'reason'], equals: reason } },
        { detail: { path: ['settled', 'facts', 'externalRefundId'], equals: externalRefundId } },
      ],
    },
  });
  return settled > 0;
}

/** True when a person may dismiss the flag: nothing more is to be done for the refund, or the flag is about another one. */
export function canBeDismissed({ status, work }: Pick<RefundWithWork, 'status' | 'work'>): boolean {
  const flag = flagOf(work);
  return flag !== null && (isTerminal(status) || flag.reason === 'extra_refund');
}

/**
 * Ends a flag and leaves the refund as it is. The same discrepancy is not flagged again.
 * @param loaded the refund as the person has seen it.
 * @returns the flag that ended; null when the refund or its flag has changed meanwhile, and nothing was changed.
 */
export async function endFlag(
  tx: DatabaseTransaction,
  loaded: RefundWithWork,
  { actor, reason }: { actor: string; reason: string },
): Promise<Flag | null> {
  const { id } = loaded;
  await lockPaymentOf(tx, loaded);
  await lockWork(tx, loaded);
  const current = await tx.refund.findUniqueOrThrow({ where: { id }, include: { work: true } });
  const settled = flagOf(current.work);
  const isSame = current.work?.flaggedAt?.getTime() === loaded.work?.flaggedAt?.getTime();
  if (settled === null || !isSame || !canBeDismissed(current)) return null;
  await unflag(tx, loaded);
  const entry: TimelineEntry = { type: 'flag.dismissed', actor, detail: { reason, settled } };
  await noteOnRefund(tx, current, entry);
  // A problem of the refund itself could not be flagged beside another refund under its name.
  if (settled.reason === 'extra_refund' && current.externalRefundId !== null)
    await requestResync(tx, current);
  return settled;
}
