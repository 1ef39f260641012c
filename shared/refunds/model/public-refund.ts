import type { Refund } from '../../db.ts';
import type { ReadRefund } from '../find-refunds.ts';

/** A refund as clients see it: the thirteen fields of the public contract, amounts in minor units. */
export interface PublicRefund {
  id: string;
  organizationId: string;
  externalRefundId: string | null;
  transactionId: string;
  amount: number;
  currency: string;
  reason: Refund['reason'];
  status: Refund['status'];
  processor: string;
  metadata: Record<string, unknown> | null;
  initiatedBy: Refund['initiatedBy'];
  createdAt: string;
  updatedAt: string;
}

/** Amounts are at most Number.MAX_SAFE_INTEGER, which is checked at creation. */
export function toPublicRefund(refund: ReadRefund): PublicRefund {
  return {
    id: refund.id,
    organizationId: refund.organizationId,
    externalRefundId: refund.externalRefundId,
    transactionId: refund.transactionId,
    amount: Number(refund.amount),
    currency: refund.currency,
    reason: refund.reason,
    status: refund.status,
    processor: refund.processor,
    metadata: refund.metadata as Record<string, unknown> | null,
    initiatedBy: refund.initiatedBy,
    createdAt: refund.createdAt.toISOString(),
    updatedAt: refund.updatedAt.toISOString(),
  };
}

/** A sent refund as it was when it was created, with the processor's id where it has one by now. */
export function asCreated(refund: ReadRefund): PublicRefund {
  const current = toPublicRefund(refund);
  return { ...current, status: 'processing', updatedAt: current.createdAt };
}
