import { z } from 'zod';
import { currencies, fromDecimal } from '../../../../shared/money.ts';
import { processorNames } from '../../../../shared/processors/registry.ts';
import { type RefundReason, refundReasons } from '../../../../shared/refunds/reasons.ts';
import { checkMetadata } from '../../../schemas/metadata.ts';
import { jsonProblem } from '../../../strict-json.ts';
import { entered, type FormReading, readForm } from '../../forms.ts';

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
      .regex(/^[\x21-\x7e]{1,255}$/, 'Enter the id as the processor shows it, without spaces.'),
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
    const amount = readAmount(text, rest.currency);
    if (typeof amount === 'bigint') return { ...rest, processor: rest.processor, amount };
    context.addIssue({ code: 'custom', path: ['amount'], message: amount });
    return z.NEVER;
  });

/** The amount in minor units, or what is wrong with it. */
function readAmount(text: string, currency: string): bigint | string {
  const unreadable = 'Enter a number in decimals of the currency, such as 10.50, or 1050 for JPY.';
  if (text.length > 20) return unreadable;
  try {
    const amount = fromDecimal(text, currency);
    if (amount <= 0n) return 'Has to be more than nothing.';
    return amount > BigInt(Number.MAX_SAFE_INTEGER) ? 'Is more than any payment.' : amount;
  } catch {
    return unreadable;
  }
}

/** The refund that is meant, or what has to be mended. */
export function readEntry(given: EnteredRefund): FormReading<RefundEntry> {
  return readForm(entrySchema, given);
}
