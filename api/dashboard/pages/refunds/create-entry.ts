import { randomUUID } from 'node:crypto';
import { z } from 'zod';
import { currencies } from '#shared/money/money.ts';
import { ServiceError } from '#shared/platform/errors.ts';
import { isClientSecret } from '#shared/processors/contract/credentials.ts';
import { processorNames } from '#shared/processors/registry.ts';
import { refundReasons } from '#shared/refund-request/reasons.ts';
import { readAmount } from '../../words/numbers.ts';
import { type Choices, currencyChoices, processorChoices, reasonChoices } from '../../words/words.ts';
import { metadataFields, metadataOf } from './metadata-entry.ts';
import { optionFields, optionsIn } from './refund-options.tsx';

const optionalText = z
  .string()
  .trim()
  .optional()
  .transform((text) => text || undefined);

const notAnId = 'Enter the ID as the processor shows it, without spaces.';

/** The form: the amount in decimals of the currency. */
export const entrySchema = z.object({
  /** Makes submitting the form twice create one refund. */
  formKey: z.uuid().catch(() => randomUUID()),
  step: z.enum(['check', 'change', 'confirm']).catch('check'),
  transactionId: z
    .string(notAnId)
    .trim()
    .regex(/^[\x21-\x7e]{1,255}$/, notAnId)
    .refine(
      (id) => !isClientSecret(id),
      'This is a client secret, not a payment ID. Enter the part before _secret_.',
    )
    .meta({ title: 'Payment ID', description: 'The ID of the payment at the processor.', maxLength: 255 }),
  amount: z
    .string('Enter an amount.')
    .trim()
    .meta({ title: 'Amount', description: 'For example 10.50.', format: 'decimal', maxLength: 20 }),
  currency: z
    .enum(currencies, 'Choose from the list.')
    .meta({ title: 'Currency', description: "The payment's currency." }),
  reason: z.enum(refundReasons, 'Choose from the list.').meta({ title: 'Reason' }),
  processor: z
    .enum(['', ...processorNames], 'Choose from the list.')
    .optional()
    .transform((name) => name || undefined)
    .meta({ title: 'Processor' }),
  account: optionalText.meta({ title: 'Account' }),
  connectedAccount: optionalText.meta({
    title: 'Connected account (optional)',
    description: 'For a direct charge of Stripe Connect, such as acct_1QfX2eLkdIwHu7ix.',
    maxLength: 255,
  }),
  ...optionFields,
  ...metadataFields,
});

/** The words of what can be chosen. */
export const entryChoices: Readonly<Record<string, Choices>> = {
  currency: currencyChoices,
  reason: [['', 'Choose'], ...reasonChoices],
  processor: [['', 'Detect automatically'], ...processorChoices],
};

type Entries = z.output<typeof entrySchema>;

/** A valid entry; its amount is positive and in minor units, its metadata whole. */
export type RefundEntry = ReturnType<typeof entryOf>;

/** @throws ServiceError validation_error for another amount, and for metadata that cannot be stored. */
export function entryOf({ amount: text, processor, step: _, ...entered }: Entries) {
  const { reverseTransfer, refundApplicationFee, metadataKey, metadataValue, ...entries } = entered;
  const options = optionsIn({ reverseTransfer, refundApplicationFee });
  const metadata = metadataOf({ metadata: entries.metadata, metadataKey, metadataValue });
  if (typeof metadata === 'string') throw problemAt('metadata', metadata);
  const read = readAmount(text, entries.currency);
  if (read.kind === 'amount' && read.amount > 0n)
    return { ...entries, metadata, processor, amount: read.amount, ...(options && { options }) };
  throw problemAt('amount', read.kind === 'problem' ? read.problem : 'Must be more than 0.');
}

/** What is wrong with a field of a valid form. */
export function problemAt(field: keyof Entries, problem: string): ServiceError {
  return new ServiceError('validation_error', `${field}: ${problem}`);
}
