import { randomUUID } from 'node:crypto';
import { z } from 'zod';
import { readStrictJson } from '#api/http/strict-json.ts';
import { currencies } from '#shared/money/money.ts';
import { ServiceError } from '#shared/platform/errors.ts';
import { isClientSecret } from '#shared/processors/contract/credentials.ts';
import { processorNames } from '#shared/processors/registry.ts';
import { checkMetadata } from '#shared/refund-request/metadata.ts';
import { refundReasons } from '#shared/refund-request/reasons.ts';
import { readAmount } from '../../words/numbers.ts';
import { type Choices, currencyChoices, processorChoices, reasonChoices } from '../../words/words.ts';
import { optionFields, optionsIn } from './refund-options.tsx';

const metadataField = z
  .string()
  .default('')
  .transform((text, context) => {
    if (text.trim() === '') return null;
    const reading = readStrictJson(text);
    const problem = reading.kind === 'invalid' ? reading.problem : metadataProblem(reading.value);
    if (reading.kind === 'valid' && problem === null) return reading.value as Record<string, unknown>;
    context.addIssue({ code: 'custom', message: problem ?? '' });
    return z.NEVER;
  })
  .meta({
    title: 'Metadata (optional)',
    description: 'A JSON object stored with the refund: {"ticket": "T-1001"}. Do not include card numbers.',
    type: 'object',
  });

function metadataProblem(value: unknown): string | null {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
    ? checkMetadata(value as Record<string, unknown>)
    : 'must be an object, such as {"ticket": "T-1001"}';
}

const optionalText = z
  .string()
  .trim()
  .optional()
  .transform((text) => text || undefined);

const notAnId = 'Enter the ID as the processor shows it, without spaces.';

/** The form: the amount in decimals of the currency, the metadata as JSON. The form of a payment's page has no metadata. */
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
  metadata: metadataField,
});

/** The words of what can be chosen. */
export const entryChoices: Readonly<Record<string, Choices>> = {
  currency: currencyChoices,
  reason: [['', 'Choose'], ...reasonChoices],
  processor: [['', 'Detect automatically'], ...processorChoices],
};

type Entries = z.output<typeof entrySchema>;

/** A valid entry; its amount is positive and in minor units. */
export type RefundEntry = ReturnType<typeof withAmount>;

/** @throws ServiceError validation_error for another amount. */
export function withAmount({
  amount: text,
  processor,
  step: _,
  reverseTransfer,
  refundApplicationFee,
  ...entries
}: Entries) {
  const options = optionsIn({ reverseTransfer, refundApplicationFee });
  const read = readAmount(text, entries.currency);
  if (read.kind === 'amount' && read.amount > 0n)
    return { ...entries, processor, amount: read.amount, ...(options && { options }) };
  throw problemAt('amount', read.kind === 'problem' ? read.problem : 'Must be more than 0.');
}

/** What is wrong with a field of a valid form. */
export function problemAt(field: keyof Entries, problem: string): ServiceError {
  return new ServiceError('validation_error', `${field}: ${problem}`);
}
