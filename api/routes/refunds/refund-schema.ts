import { z } from 'zod';
import { isCurrency } from '../../../shared/money/money.ts';
import { isClientSecret } from '../../../shared/processors/contract/credentials.ts';
import { initiators, refundReasons } from '../../../shared/refunds/model/reasons.ts';
import { metadataLimits } from '../../../shared/refunds/model/refund.ts';
import { refundStatuses } from '../../../shared/refunds/model/states.ts';
import { checkMetadata } from './metadata-schema.ts';

const exampleRefund = {
  id: 'ref_01kahw3v6me8fbw6r5k2jdz7qs',
  organizationId: 'org_01kahvzq3hfa8t8s1kxm1n0c4v',
  externalRefundId: 're_3QfX2eLkdIwHu7ix0b1Zp9aN',
  transactionId: 'ch_3QfX2eLkdIwHu7ix',
  amount: 1500,
  currency: 'usd',
  reason: 'product_defective',
  status: 'processing',
  processor: 'stripe',
  metadata: { ticket: 'T-1001' },
  initiatedBy: 'api',
  createdAt: '2026-11-20T09:30:00.000Z',
  updatedAt: '2026-11-20T09:30:00.000Z',
};

/** What is wrong with a body as a whole, for the caller. */
export const objectError: z.core.$ZodErrorMap = ({ code, keys }) =>
  code === 'unrecognized_keys'
    ? `unknown field ${JSON.stringify(String(keys?.[0]).slice(0, 40))}`
    : 'must be a JSON object';

export const refundSchema = z
  .object({
    id: z.string().meta({ description: 'Opaque, begins with ref_.' }),
    organizationId: z.string().meta({ description: 'Whose refund it is; begins with org_.' }),
    externalRefundId: z
      .string()
      .nullable()
      .meta({ description: "The processor's id; null until it has one." }),
    transactionId: z.string().meta({ description: 'The id of the charge or payment at the processor.' }),
    amount: z
      .int()
      .positive()
      .meta({ description: 'In the smallest unit of the currency, for example cents.' }),
    currency: z.string().meta({ description: 'ISO 4217, lowercase.' }),
    reason: z.enum(refundReasons).meta({ description: 'Why the payment is given back.' }),
    status: z.enum(refundStatuses).meta({
      description:
        '`pending` waits for approval, `processing` is on its way; `completed`, `failed` and `cancelled` are final, ' +
        'except that money which comes back later will turn `completed` into `failed`.',
    }),
    processor: z.string().meta({ description: 'The payment processor that holds the payment.' }),
    metadata: z
      .record(z.string(), z.unknown())
      .nullable()
      .meta({ description: 'As it was attached at creation; null when nothing was.' }),
    initiatedBy: z.enum(initiators).meta({ description: 'The way by which the refund was asked for.' }),
    createdAt: z.string().meta({ format: 'date-time', description: 'UTC, with milliseconds.' }),
    updatedAt: z.string().meta({
      format: 'date-time',
      description: 'The last change of the refund, here or at the processor; `createdAt` until then.',
    }),
  })
  .meta({ id: 'Refund', description: 'A refund and where it stands.', examples: [exampleRefund] });

/** The message for a field that must be there: what is missing is not of the wrong kind. */
function required(message: string): (issue: { input?: unknown }) => string {
  return ({ input }) => (input === undefined ? 'is required' : message);
}

/** A transaction id as processors make them. Whitespace, control characters and non-ASCII are in none of them. */
export const transactionIdSchema = z
  .string({ error: required('must be a string') })
  .min(1, { error: 'must not be empty' })
  .max(255, { error: 'must have 255 characters at most' })
  .regex(/^[\x21-\x7e]*$/, { error: 'must be made of visible ASCII characters, as processors make them' })
  .refine((id) => !isClientSecret(id), {
    error: 'this is a client secret, not a payment id; send the part before _secret_',
  })
  .meta({
    description: 'The id of the charge or payment at the processor.',
    examples: ['ch_3QfX2eLkdIwHu7ix'],
  });

const amountMessage = 'must be a positive whole number in the smallest currency unit (1050 is 10.50 USD)';

export const amountSchema = z
  .int({ error: required(amountMessage) })
  .positive({ error: amountMessage })
  .meta({ description: 'In the smallest unit of the currency, for example cents.', examples: [1500] });

export const createRefundSchema = z
  .strictObject(
    {
      transactionId: transactionIdSchema,
      amount: amountSchema,
      reason: z
        .enum(refundReasons, { error: required(`must be one of: ${refundReasons.join(', ')}`) })
        .meta({ description: 'Why the payment is given back.' }),
      currency: z
        .string({ error: 'must be a string' })
        .regex(/^[A-Za-z]{3}$/, { error: 'must be the three letters of an ISO 4217 currency' })
        .refine((code) => isCurrency(code.toLowerCase()), { error: 'must be a currency of ISO 4217' })
        .default('usd')
        .meta({ description: 'ISO 4217; must be the currency of the transaction.', examples: ['usd'] }),
      processor: z
        .string({ error: 'must be a string' })
        .min(1, { error: 'must not be empty' })
        .max(50, { error: 'must have 50 characters at most' })
        .optional()
        .meta({ description: 'Detected from the transaction when left out.', examples: ['stripe'] }),
      metadata: z
        .record(z.string(), z.unknown(), { error: 'must be an object' })
        .superRefine((metadata, context) => {
          const problem = checkMetadata(metadata);
          if (problem !== null) context.addIssue({ code: 'custom', message: problem });
        })
        .nullable()
        .optional()
        .meta({
          description:
            `Stored with the refund as it is: up to ${metadataLimits.keys} keys of 1 to ${metadataLimits.keyLength} characters, ` +
            `${metadataLimits.depth} levels deep, ${metadataLimits.bytes} bytes as JSON. Put no card numbers into it.`,
          examples: [{ ticket: 'T-1001' }],
        }),
    },
    { error: objectError },
  )
  .meta({
    id: 'CreateRefund',
    examples: [
      {
        transactionId: 'ch_3QfX2eLkdIwHu7ix',
        amount: 1500,
        reason: 'product_defective',
        metadata: { ticket: 'T-1001' },
      },
    ],
  });

const wholeNumber = (description: string, least: number, greatest: number, fallback: number) =>
  z
    .string({ error: 'must be given once' })
    .regex(/^\d{1,15}$/, { error: `must be a whole number from ${least} to ${greatest}` })
    .transform(Number)
    .pipe(
      z
        .int()
        .min(least, { error: `must be at least ${least}` })
        .max(greatest, { error: `must be at most ${greatest}` }),
    )
    .default(fallback)
    // It arrives as text, and is a number to those who send it.
    .meta({
      description,
      type: 'integer',
      minimum: least,
      maximum: greatest,
      default: fallback,
      pattern: undefined,
    });

export const listRefundsQuerySchema = z.object({
  status: z
    .enum(refundStatuses, { error: `must be one of: ${refundStatuses.join(', ')}` })
    .optional()
    .meta({ description: 'Only refunds with this status.' }),
  processor: z
    .string({ error: 'must be given once' })
    .min(1, { error: 'must not be empty' })
    .max(50, { error: 'must have 50 characters at most' })
    .regex(/^[\x21-\x7e]*$/, { error: 'must be made of visible ASCII characters' })
    .optional()
    .meta({ description: 'Only refunds at this processor.', examples: ['stripe'] }),
  limit: wholeNumber('The most refunds to return; 25 when left out.', 1, 100, 25),
  offset: wholeNumber(
    'How many of the newest refunds to skip; none when left out.',
    0,
    999_999_999_999_999,
    0,
  ),
});

export const refundParamsSchema = z.object({
  id: z.string().meta({ description: 'The id of the refund, ref_...', examples: [exampleRefund.id] }),
});
