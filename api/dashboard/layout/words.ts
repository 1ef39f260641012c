import { processorKinds } from '../../../shared/processors/registry.ts';
import type { InitiatedBy, RefundReason } from '../../../shared/refunds/model/reasons.ts';

/** Reasons in words for people. */
export const reasonWords: Record<RefundReason, string> = {
  product_not_received: 'Product not received',
  product_defective: 'Product defective',
  wrong_product: 'Wrong product',
  duplicate_charge: 'Charged twice',
  subscription_cancelled: 'Subscription cancelled',
  other: 'Other',
};

/** The doors through which refunds come in, in words for people. */
export const initiatorWords: Record<InitiatedBy, string> = {
  api: 'API',
  dashboard: 'Dashboard',
  mcp: 'Agent',
};

/** A processor's name as people write it. */
export function processorWord(name: string): string {
  return processorKinds[name]?.displayName ?? name;
}
