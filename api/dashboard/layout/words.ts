import { parse } from 'bowser';
import { processorKinds } from '../../../shared/processors/registry.ts';
import type { InitiatedBy, RefundReason } from '../../../shared/refunds/model/reasons.ts';

/** The labels of refund reasons. */
export const reasonWords: Record<RefundReason, string> = {
  product_not_received: 'Product not received',
  product_defective: 'Product defective',
  wrong_product: 'Wrong product',
  duplicate_charge: 'Charged twice',
  subscription_cancelled: 'Subscription cancelled',
  other: 'Other',
};

/** The labels of refund sources. */
export const initiatorWords: Record<InitiatedBy, string> = {
  api: 'API',
  dashboard: 'Dashboard',
  mcp: 'Agent',
};

/** The display name of a processor. */
export function processorWord(name: string): string {
  return processorKinds[name]?.displayName ?? name;
}

/** A browser's display name from its user agent, such as `Safari on iOS`; null for an unknown one. */
export function browserWord(userAgent: string): string | null {
  if (userAgent === '') return null;
  const { browser, os } = parse(userAgent);
  const known = [browser.name, os.name].filter((name) => name !== undefined && name !== '');
  return known.length === 0 ? null : known.join(' on ');
}
