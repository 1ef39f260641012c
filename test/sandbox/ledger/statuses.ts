/** The statuses each processor uses, and what they mean for the money. */
export const PAYMENT_STATUSES = {
  stripe: ['succeeded', 'failed', 'uncaptured', 'disputed'],
  braintree: ['settled', 'settling', 'submitted_for_settlement', 'authorized'],
} as const;

export const REFUND_STATUSES = {
  stripe: ['pending', 'requires_action', 'succeeded', 'failed', 'canceled'],
  braintree: [
    'authorized',
    'submitted_for_settlement',
    'settling',
    'settlement_pending',
    'settlement_confirmed',
    'settled',
    'settlement_declined',
    'processor_declined',
    'gateway_rejected',
    'failed',
    'voided',
  ],
} as const;

const RETURNED: ReadonlySet<string> = new Set([
  'failed',
  'canceled',
  'voided',
  'settlement_declined',
  'processor_declined',
  'gateway_rejected',
]);

/** True when the amount of the refund can be refunded again. */
export function hasReturnedMoney(status: string): boolean {
  return RETURNED.has(status);
}

interface Settleable {
  processor: keyof typeof REFUND_STATUSES;
  status: string;
  driven: boolean;
}

/** The status to which the refund will settle; null when it stays as it is. */
export function settlesTo(refund: Settleable): string | null {
  if (refund.driven) return null;
  switch (refund.processor) {
    case 'stripe':
      return refund.status === 'pending' || refund.status === 'requires_action' ? 'succeeded' : null;
    case 'braintree':
      return refund.status === 'submitted_for_settlement' ? 'settled' : null;
  }
}
