import { wherePayment } from '../../../../shared/payments/payment.ts';
import { nameActors } from '../../../../shared/people/actors.ts';
import type { Payment, RefundEvent } from '../../../../shared/platform/database.ts';
import type { RefundWithWork } from '../../../../shared/refunds/model/refund.ts';
import { findOwnRefund } from '../../../../shared/refunds/queries/find-refunds.ts';
import type { ApiDependencies } from '../../../http/dependencies.ts';
import type { Context } from '../../http/access.ts';

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
