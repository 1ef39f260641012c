import type { Payment, RefundEvent } from '../../../../shared/db.ts';
import { wherePayment } from '../../../../shared/payments/payment.ts';
import { nameActors } from '../../../../shared/people/name-actors.ts';
import { findOwnRefund } from '../../../../shared/refunds/find-refunds.ts';
import type { RefundWithWork } from '../../../../shared/refunds/lifecycle/flag.ts';
import type { ApiDependencies } from '../../../dependencies.ts';
import type { Context } from '../../access.ts';

/** All that the page of one refund shows. */
export interface RefundDetail {
  refund: RefundWithWork;
  payment: Payment;
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
    db.payment.findUniqueOrThrow({ where: wherePayment(refund) }),
    db.refundEvent.findMany({ where: { refundId: id }, orderBy: { seq: 'asc' } }),
  ]);
  const names = await nameActors(
    db,
    owner.organizationId,
    events.map(({ actor }) => actor),
  );
  return { refund, payment, events, names };
}
