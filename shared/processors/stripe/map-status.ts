import type { ProcessorRefundState } from '../contract/processor.ts';

const states: ReadonlyMap<string | null, ProcessorRefundState> = new Map([
  ['pending', 'open'],
  // The customer has to do something first, such as giving bank details.
  ['requires_action', 'open'],
  // Handed to the bank; it may still come back as failed, weeks later.
  ['succeeded', 'completed'],
  ['failed', 'failed'],
  ['canceled', 'cancelled'],
]);

/** What the status of a Stripe refund means. Stripe types it as nullable text, so anything may come. */
export function mapStatus(status: string | null): ProcessorRefundState {
  return states.get(status) ?? 'open';
}
