import { z } from 'zod';
import { isCurrency } from '#shared/money/money.ts';
import { processorNames } from '#shared/processors/registry.ts';
import { checkMetadata, forbiddenMetadataKeys, metadataLimits } from '#shared/refund-request/metadata.ts';
import { refundReasons } from '#shared/refund-request/reasons.ts';
import { checkedBy, jsonObject, oneOf, required } from './fields.ts';
import { amountSchema, transactionIdSchema } from './refund-schemas.ts';

/** In capitals or not. */
export const currencyCode = z
  .string({ error: 'must be a string' })
  .regex(/^[A-Za-z]{3}$/, { error: 'must be a three-letter ISO 4217 currency code' })
  .refine((code) => isCurrency(code.toLowerCase()), { error: 'must be an ISO 4217 currency' });

/** The fields of a request for a refund. */
export const creationShape = {
  transactionId: transactionIdSchema,
  amount: amountSchema.optional(),
  remaining: z
    .literal(true, { error: 'must be true, or left out' })
    .optional()
    .describe(
      'True in place of `amount` to refund all that is left of the payment. It is decided when the refund is created, so that ' +
        'concurrent refunds never exceed the payment; a payment with nothing left gets `refund_already_processed`.',
    ),
  reason: z
    .enum(refundReasons, { error: required(`must be one of: ${refundReasons.join(', ')}`) })
    .describe('Why the payment is refunded.'),
  currency: currencyCode
    .default('usd')
    .meta({ description: 'ISO 4217; must be the currency of the payment.', examples: ['usd'] }),
  processor: oneOf(processorNames)
    .optional()
    .meta({ description: 'Detected from the payment when omitted.', examples: ['stripe'] }),
  metadata: z
    .record(z.string(), z.unknown(), { error: 'must be an object' })
    .superRefine(checkedBy(checkMetadata))
    .nullable()
    .optional()
    .meta({
      description:
        `Stored with the refund: up to ${metadataLimits.keys} keys of 1 to ${metadataLimits.keyLength} characters, ` +
        `${metadataLimits.depth} levels deep, ${metadataLimits.values} values, ${metadataLimits.bytes} bytes as JSON, without a key ` +
        `${forbiddenMetadataKeys.join(', ')}. Do not include card numbers.`,
      examples: [{ ticket: 'T-1001' }],
    }),
};

export const createRefundSchema = withAmount(
  jsonObject({
    ...creationShape,
    dryRun: z
      .boolean({ error: 'must be true or false' })
      .optional()
      .describe('True to learn what the creation would come to. Nothing is reserved, sent or stored.'),
  }),
).meta({
  examples: [
    {
      transactionId: 'ch_3QfX2eLkdIwHu7ix',
      amount: 1500,
      reason: 'product_defective',
      metadata: { ticket: 'T-1001' },
    },
    { transactionId: 'ch_3QfX2eLkdIwHu7ix', remaining: true, reason: 'wrong_product' },
  ],
});

type AmountSchema = z.ZodType<{ amount?: number | undefined; remaining?: true | undefined }>;

/** Requires either an amount or all that is left. It is checked beside other invalid fields. */
export function withAmount<Schema extends AmountSchema>(schema: Schema): Schema {
  return withAmountOrNone(
    schema.refine(({ amount, remaining }) => amount !== undefined || remaining !== undefined, {
      ...{ path: ['amount'], error: 'is required, unless remaining is true' },
      when: ({ value }) => isObject(value),
    }),
  );
}

/** Refuses an amount together with all that is left. */
export function withAmountOrNone<Schema extends AmountSchema>(schema: Schema): Schema {
  return schema.refine(({ amount, remaining }) => amount === undefined || remaining === undefined, {
    ...{ path: ['remaining'], error: 'cannot be combined with amount' },
    when: ({ value }) => isObject(value),
  });
}

function isObject(value: unknown): boolean {
  return typeof value === 'object' && value !== null;
}
