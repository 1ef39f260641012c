import type { ProcessorAccount } from '../../platform/database.ts';
import type { ProcessorKind, ProcessorPayment } from './processor.ts';

/** What goes with a refund beside its amount. What is left out is as the processor does by default. */
export interface RefundOptions {
  /** Take back from the connected account what was transferred to it, in proportion to the refund. */
  reverseTransfer?: boolean;
  /** Give the connected account back what the platform took of the payment as its fee, in proportion to the refund. */
  refundApplicationFee?: boolean;
  /** Where the customer is asked how to receive the money, for payment methods that cannot be refunded without. */
  instructionsEmail?: string;
}

export type RefundOption = keyof RefundOptions;

/** Why an option cannot go with a refund. The message is for the caller and does not repeat the option's name. */
export interface OptionProblem {
  option: RefundOption;
  message: string;
}

/**
 * The first option that the processor or the payment does not have; null when it has all of them. It is asked with the options as they will
 * be sent, defaults included.
 * @param payment null while it is not known, so that only the processor can be asked.
 */
export function optionProblem(
  { displayName, refundOptions }: Pick<ProcessorKind<never>, 'displayName' | 'refundOptions'>,
  payment: Pick<ProcessorPayment, 'hasTransfer' | 'applicationFee'> | null,
  options: RefundOptions,
): OptionProblem | null {
  const unknown = (Object.keys(options) as RefundOption[]).find(
    (option) => options[option] !== undefined && !refundOptions.includes(option),
  );
  if (unknown !== undefined) return { option: unknown, message: `${displayName} has no such option.` };
  if (payment === null) return null;
  const { reverseTransfer = false, refundApplicationFee = false } = options;
  if (reverseTransfer && !payment.hasTransfer) {
    return { option: 'reverseTransfer', message: 'The payment has no transfer to a connected account.' };
  }
  if (!refundApplicationFee) return null;
  if (!payment.applicationFee) {
    return { option: 'refundApplicationFee', message: 'The payment has no application fee.' };
  }
  // Otherwise the connected account would get the fee beside what it keeps of the payment.
  if (payment.hasTransfer && !reverseTransfer) {
    return {
      option: 'refundApplicationFee',
      message: 'The fee of a payment with a transfer goes back only together with reverseTransfer.',
    };
  }
  return null;
}

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
