import { wherePayment } from '../../../../shared/payments/payment.ts';
import { nameActors } from '../../../../shared/people/actors.ts';
import type { Payment, RefundEvent } from '../../../../shared/platform/database.ts';
import type { RefundWithWork } from '../../../../shared/refunds/model/refund.ts';
import { findOwnRefund } from '../../../../shared/refunds/queries/find-refunds.ts';
import type { ApiDependencies } from '../../../http/dependencies.ts';
import type { Context } from '../../http/access.ts';

/** The content of a refund's page. */
export interface RefundDetail {
  refund: RefundWithWork;
  payment: Payment;
  /** Oldest first. */
  events: readonly RefundEvent[];
  /** The display names of the events' actors. */
  names: ReadonlyMap<string, string>;
}

/** @throws ServiceError not_found for a refund of another organization or environment. */
export async function readDetail(
  { db }: Pick<ApiDependencies, 'db'>,
  context: Context,
  id: string,
): Promise<RefundDetail> {
  const refund = await findOwnRefund(db, context.owner, id);
  const [payment, events] = await Promise.all([
    db.payment.findUniqueOrThrow({ where: wherePayment(refund) }),
    db.refundEvent.findMany({ where: { refundId: id }, orderBy: { seq: 'asc' } }),
  ]);
  const names = await nameActors(
    db,
    context.owner.organizationId,
    events.map(({ actor }) => actor),
  );
  return { refund, payment, events, names };
}
