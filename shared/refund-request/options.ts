import type { ProcessorAccount } from '../platform/database.ts';
import type { RefundOptions } from '../processors/contract/refund-options.ts';

/** What a payment has that options are about. */
interface OptionalParts {
  hasTransfer: boolean;
  applicationFee: boolean;
}

type Defaults = Pick<ProcessorAccount, 'transfers' | 'applicationFees'>;

/** True when what goes with a refund depends on its payment. */
export function dependsOnPayment({ transfers, applicationFees }: Defaults, asked: RefundOptions): boolean {
  return transfers !== 'keep' || applicationFees !== 'keep' || Object.keys(asked).length > 0;
}

/**
 * What goes with a refund: what its request says, and for the rest what its account does by default, as far as the payment has that.
 * @returns null for nothing.
 */
export function optionsOf(
  { transfers, applicationFees }: Defaults,
  { hasTransfer, applicationFee }: OptionalParts,
  asked: RefundOptions,
): RefundOptions | null {
  const reverseTransfer = asked.reverseTransfer ?? (transfers === 'reverse' && hasTransfer);
  // The fee of a payment with a transfer goes back only together with the transfer.
  const returnsFee = applicationFees === 'refund' && applicationFee && (reverseTransfer || !hasTransfer);
  const options: RefundOptions = {
    ...asked,
    ...(asked.reverseTransfer === undefined && reverseTransfer && { reverseTransfer }),
    ...(asked.refundApplicationFee === undefined && returnsFee && { refundApplicationFee: true }),
  };
  return Object.keys(options).length === 0 ? null : options;
}
