/** The reasons of the public contract. */
export const refundReasons = [
  'product_not_received',
  'product_defective',
  'wrong_product',
  'duplicate_charge',
  'subscription_cancelled',
  'other',
] as const;

export type RefundReason = (typeof refundReasons)[number];

/** Where a refund was requested. */
export const initiators = ['api', 'dashboard', 'mcp'] as const;

export type InitiatedBy = (typeof initiators)[number];
