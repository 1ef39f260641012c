import { type KeptName, keptName, type RefundName } from '../contract/processor.ts';

/** The order id of a refund, at most 255 characters: our id, with the request's digest after a dot where there is one. */
export function orderIdOf({ refundId, requestDigest }: RefundName): string {
  return requestDigest === null ? refundId : `${refundId}.${requestDigest}`;
}

/** The name in an order id. Credits made elsewhere have any order id, mostly the sale's. */
export function nameInOrderId(orderId: string | null | undefined): KeptName {
  const [refundId, requestDigest] = orderId?.split('.') ?? [];
  return keptName(refundId, requestDigest);
}
