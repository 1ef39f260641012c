import { type KeptName, keptName, type RefundSubmission } from '../contract/processor.ts';

type Name = Pick<RefundSubmission, 'refundId' | 'requestDigest' | 'organizationId'>;

/** The order id of a refund, at most 255 characters: our id, the request's digest or nothing, the organization, with dots between them. */
export function orderIdOf({ refundId, requestDigest, organizationId }: Name): string {
  return [refundId, requestDigest ?? '', organizationId].join('.');
}

/** The name in an order id. Credits made elsewhere have any order id, mostly the sale's. */
export function nameInOrderId(orderId: string | null | undefined): KeptName {
  const [refundId, requestDigest, organizationId] = orderId?.split('.') ?? [];
  return keptName(refundId, requestDigest, organizationId);
}
