import { paymentOf, wherePayment } from '../../../../shared/payments/payment.ts';
import { nameActors } from '../../../../shared/people/actors.ts';
import type { Payment, RefundEvent } from '../../../../shared/platform/database.ts';
import { readApprovalRefusal } from '../../../../shared/refunds/decisions/four-eyes.ts';
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
  /** Why the user may not approve it; null when they may, or when it does not await approval. */
  approvalRefusal: string | null;
}

/** @throws ServiceError not_found for a refund of another organization or environment. */
export async function readDetail(
  { db }: Pick<ApiDependencies, 'db'>,
  context: Context,
  id: string,
): Promise<RefundDetail> {
  const refund = await findOwnRefund(db, context.owner, id);
  const [payment, events] = await Promise.all([
    db.payment.findUniqueOrThrow({ where: wherePayment(paymentOf(refund)) }),
    db.refundEvent.findMany({ where: { refundId: id }, orderBy: { seq: 'asc' } }),
  ]);
  const names = await nameActors(
    db,
    context.owner.organizationId,
    events.map(({ actor }) => actor),
  );
  const [requested] = events;
  const isPending = refund.status === 'pending' && requested !== undefined;
  const approvalRefusal = isPending ? await readApprovalRefusal(db, requested, context.actor) : null;
  return { refund, payment, events, names, approvalRefusal };
}
