import { z } from 'zod';
import { readStrictJson } from '#api/http/body.ts';
import { currencies } from '#shared/money/money.ts';
import { isClientSecret } from '#shared/processors/contract/credentials.ts';
import { processorNames } from '#shared/processors/registry.ts';
import { checkMetadata } from '#shared/refunds/model/metadata.ts';
import { refundReasons } from '#shared/refunds/model/reasons.ts';
import { chosen } from '../../http/day-range.ts';
import { capitalized, entered, type FormReading, readAmount, readForm } from '../../http/forms.ts';

export const entryFields = [
  'transactionId',
  'amount',
  'currency',
  'reason',
  'processor',
  'metadata',
] as const;

/** The fields of the form as text; the amount in decimals of the currency. */
export type EnteredRefund = Record<(typeof entryFields)[number], string>;

/** The entry of a request, whether or not it is valid. */
export function enteredRefund(body: unknown): EnteredRefund {
  return Object.fromEntries(entryFields.map((field) => [field, entered(body, field)])) as EnteredRefund;
}

const metadataSchema = z.string().transform((text, context) => {
  if (text.trim() === '') return null;
  const reading = readStrictJson(text);
  const problem = reading.kind === 'invalid' ? reading.problem : metadataProblem(reading.value);
  if (reading.kind === 'valid' && problem === null) return reading.value as Record<string, unknown>;
  context.addIssue({ code: 'custom', message: `${capitalized(problem ?? '')}.` });
  return z.NEVER;
});

function metadataProblem(value: unknown): string | null {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
    ? checkMetadata(value as Record<string, unknown>)
    : 'must be an object, such as {"ticket": "T-1001"}';
}

const entrySchema = z
  .object({
    transactionId: z
      .string()
      .trim()
      .regex(/^[\x21-\x7e]{1,255}$/, 'Enter the ID as the processor shows it, without spaces.')
      .refine(
        (id) => !isClientSecret(id),
        'This is a client secret, not a payment ID. Enter the part before _secret_.',
      ),
    amount: z.string().trim(),
    currency: z.enum(currencies, 'Choose from the list.'),
    reason: z.enum(refundReasons, 'Choose from the list.'),
    processor: chosen(z.enum(processorNames, 'Choose from the list.')),
    metadata: metadataSchema,
  })
  .transform(({ amount: text, processor, ...rest }, context) => {
    const read = readAmount(text, rest.currency);
    if (read.kind === 'amount' && read.amount > 0n) return { ...rest, processor, amount: read.amount };
    const message = read.kind === 'problem' ? read.problem : 'Must be more than 0.';
    context.addIssue({ code: 'custom', path: ['amount'], message });
    return z.NEVER;
  });

/** A valid entry; its amount is positive and in minor units. */
export type RefundEntry = z.output<typeof entrySchema>;

/** The refund to create, or what is wrong with the entry. */
export function readEntry(given: EnteredRefund): FormReading<RefundEntry> {
  return readForm(entrySchema, given);
}
