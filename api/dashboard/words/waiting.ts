import { displayNameOf } from '#shared/processors/registry.ts';
import type { WaitingReason } from '#shared/refunds/model/waiting.ts';

/** What a refund waits for, in a few words. @param processor its name, such as `stripe`. */
export function waitingWords(reason: WaitingReason, processor: string): string {
  return words[reason](displayNameOf(processor));
}

const words: Record<WaitingReason, (processor: string) => string> = {
  approval: () => 'Awaiting approval',
  hold: () => 'Held by a policy',
  processor_unreachable: (processor) => `Waiting for ${processor}'s answer`,
  rate_limited: (processor) => `Waiting for ${processor} to take more requests`,
  credentials: (processor) => `Waiting for ${processor} credentials that permit it`,
  insufficient_balance: (processor) => `Waiting for funds in your ${processor} balance`,
  payment_unsettled: () => 'Waiting for the payment to settle',
  customer_action: () => 'Waiting for the customer to enter bank details',
  unknown_outcome: (processor) => `Looking up whether ${processor} has it`,
  approval_at_processor: (processor) => `Awaiting approval by a reviewer in ${processor}`,
  settlement: (processor) => `${processor} has it`,
  recovery: () => 'Waiting for the recovery after a restore',
};
