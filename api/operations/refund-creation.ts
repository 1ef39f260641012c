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

/** Which account holds a payment, as far as it is named. */
export const whichAccount = {
  processor: oneOf(processorNames)
    .optional()
    .meta({ description: 'Detected from the payment when omitted.', examples: ['stripe'] }),
  account: accountField(
    'The id or the name of the account that holds the payment; GET /v1/accounts lists them. Detected from the payment when omitted. ' +
      'Required when several accounts have the payment.',
  ),
  connectedAccount: z
    .string({ error: 'must be a string' })
    .min(1, { error: 'must not be empty' })
    .max(255, { error: 'must have at most 255 characters' })
    .optional()
    .meta({
      description:
        'The connected account that holds the payment, for a direct charge of Stripe Connect; omitted for a payment of the account itself.',
      examples: ['acct_1QfX2eLkdIwHu7ix'],
    }),
};

/** The id or the name of an account. */
function accountField(description: string) {
  return z
    .string({ error: 'must be a string' })
    .min(1, { error: 'must not be empty' })
    .max(255, { error: 'must have at most 255 characters' })
    .optional()
    .meta({ description, examples: ['shop-eu'] });
}

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
  ...whichAccount,
  options: jsonObject({
    reverseTransfer: z
      .boolean({ error: 'must be true or false' })
      .optional()
      .describe(
        'True to take back from the connected account what it got of a destination charge, in proportion to the refund. Otherwise ' +
          'the platform pays the refund. By default as the account says.',
      ),
    refundApplicationFee: z
      .boolean({ error: 'must be true or false' })
      .optional()
      .describe(
        "True to give back the platform's fee of the payment, in proportion to the refund. By default as the account says.",
      ),
    instructionsEmail: z
      .email({ error: 'must be an email address' })
      .max(320, { error: 'must have at most 320 characters' })
      .optional()
      .describe(
        'Where the processor asks the customer how to receive the money, for payment methods that cannot be refunded otherwise.',
      ),
  })
    .optional()
    .meta({
      description:
        'What goes with the refund at a processor that has it. An option that the processor or the payment does not have is refused.',
      examples: [{ reverseTransfer: true }],
    }),
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
