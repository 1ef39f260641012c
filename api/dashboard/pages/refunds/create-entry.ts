import { z } from 'zod';
import { currencies } from '../../../../shared/money/money.ts';
import { isClientSecret } from '../../../../shared/processors/contract/client-secret.ts';
import { processorNames } from '../../../../shared/processors/registry.ts';
import { type RefundReason, refundReasons } from '../../../../shared/refunds/model/reasons.ts';
import { jsonProblem } from '../../../http/strict-json.ts';
import { checkMetadata } from '../../../routes/refunds/metadata-schema.ts';
import { entered, type FormReading, readAmount, readForm } from '../../http/forms.ts';

export const entryFields = [
  'transactionId',
  'amount',
  'currency',
  'reason',
  'processor',
  'metadata',
] as const;

/** A refund as somebody entered it, each field as text; the amount in decimals of the currency. */
export type EnteredRefund = Record<(typeof entryFields)[number], string>;

/** A refund that can be asked for. */
export interface RefundEntry {
  transactionId: string;
  /** Minor units, positive. */
  amount: bigint;
  /** Lowercase ISO 4217. */
  currency: string;
  reason: RefundReason;
  processor: string | undefined;
  metadata: Record<string, unknown> | null;
}

/** What was entered, whatever it is. */
export function enteredRefund(body: unknown): EnteredRefund {
  return Object.fromEntries(entryFields.map((field) => [field, entered(body, field)])) as EnteredRefund;
}

const metadataSchema = z.string().transform((text, context) => {
  if (text.trim() === '') return null;
  const problem = metadataProblem(text);
  if (problem === null) return JSON.parse(text) as Record<string, unknown>;
  context.addIssue({ code: 'custom', message: `${problem.charAt(0).toUpperCase()}${problem.slice(1)}.` });
  return z.NEVER;
});

function metadataProblem(text: string): string | null {
  const problem = jsonProblem(text);
  if (problem !== null) return problem;
  const value: unknown = JSON.parse(text);
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    return 'has to be an object, such as {"ticket": "T-1001"}';
  }
  return checkMetadata(value as Record<string, unknown>);
}

const entrySchema = z
  .object({
    transactionId: z
      .string()
      .trim()
      .regex(/^[\x21-\x7e]{1,255}$/, 'Enter the id as the processor shows it, without spaces.')
      .refine(
        (id) => !isClientSecret(id),
        'This is a client secret, not a payment id. Enter the part before _secret_.',
      ),
    amount: z.string().trim(),
    currency: z.enum(currencies, 'Choose from the list.'),
    reason: z.enum(refundReasons, 'Choose from the list.'),
    processor: z.preprocess(
      (name) => (name === '' ? undefined : name),
      z.enum(processorNames, 'Choose from the list.').optional(),
    ),
    metadata: metadataSchema,
  })
  .transform(({ amount: text, ...rest }, context): RefundEntry => {
    const read = readAmount(text, rest.currency);
    if (read.kind === 'amount' && read.amount > 0n) {
      return { ...rest, processor: rest.processor, amount: read.amount };
    }
    const message = read.kind === 'problem' ? read.problem : 'Has to be more than nothing.';
    context.addIssue({ code: 'custom', path: ['amount'], message });
    return z.NEVER;
  });

/** The refund that is meant, or what has to be mended. */
export function readEntry(given: EnteredRefund): FormReading<RefundEntry> {
  return readForm(entrySchema, given);
}
