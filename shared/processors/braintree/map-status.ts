import type { ProcessorRefundState } from '../contract/processor.ts';

const refundStates: ReadonlyMap<string, ProcessorRefundState> = new Map([
  ['authorizing', 'open'],
  ['authorized', 'open'],
  ['submitted_for_settlement', 'open'],
  ['settling', 'open'],
  ['settlement_pending', 'open'],
  ['settlement_confirmed', 'open'],
  // The bank may still return the money; then it becomes settlement_declined.
  ['settled', 'completed'],
  ['processor_declined', 'failed'],
  ['gateway_rejected', 'failed'],
  ['failed', 'failed'],
  ['settlement_declined', 'failed'],
  ['authorization_expired', 'failed'],
  // Taken back before it had settled.
  ['voided', 'cancelled'],
]);

/** What the status of a credit, Braintree's word for a refund, means. */
export function mapStatus(status: string): ProcessorRefundState {
  return refundStates.get(status) ?? 'open';
}

/**
 * What can be done to give the money of a sale back.
 * - `refund`: it has settled, or is about to.
 * - `void`: not yet settled, so it can be undone, as a whole and without a credit.
 * - `voided`: that has been done.
 * - `unpaid`: it never took place.
 */
export type SaleStage = 'refund' | 'void' | 'voided' | 'unpaid';

const saleStages: ReadonlyMap<string, SaleStage> = new Map([
  ['authorized', 'void'],
  ['submitted_for_settlement', 'void'],
  // Some PayPal payments.
  ['settlement_pending', 'void'],
  ['voided', 'voided'],
  ['processor_declined', 'unpaid'],
  ['gateway_rejected', 'unpaid'],
  ['failed', 'unpaid'],
  ['settlement_declined', 'unpaid'],
  ['authorization_expired', 'unpaid'],
]);

/** The stage of a sale by its status; for a status nobody knows, Braintree decides about the refund. */
export function saleStage(status: string): SaleStage {
  return saleStages.get(status) ?? 'refund';
}
