import type { Refund, RefundEvent, Transaction } from '../../../../shared/db.ts';
import { nameActors } from '../../../../shared/people/name-actors.ts';
import { findOwnRefund } from '../../../../shared/refunds/find-refunds.ts';
import { whereTransaction } from '../../../../shared/transactions/reservation.ts';
import type { ApiDependencies } from '../../../dependencies.ts';
import type { Context } from '../../access.ts';

/** All that the page of one refund shows. */
export interface RefundDetail {
  refund: Refund;
  payment: Transaction;
  /** The oldest first. */
  events: readonly RefundEvent[];
  /** The actors of the events in words. */
  names: ReadonlyMap<string, string>;
}

/** @throws ServiceError not_found for a refund that is none of the organization's, or of the other environment. */
export async function readDetail(
  { db }: Pick<ApiDependencies, 'db'>,
  context: Context,
  id: string,
): Promise<RefundDetail> {
  const owner = context.owner;
  const refund = await findOwnRefund(db, owner, id);
  const [payment, events] = await Promise.all([
    db.transaction.findUniqueOrThrow({ where: whereTransaction(refund) }),
    db.refundEvent.findMany({ where: { refundId: id }, orderBy: { seq: 'asc' } }),
  ]);
  const names = await nameActors(
    db,
    owner.organizationId,
    events.map(({ actor }) => actor),
  );
  return { refund, payment, events, names };
}
