import { z } from 'zod';
import { isClientSecret } from '../../../shared/processors/contract/credentials.ts';
import { initiators, refundReasons } from '../../../shared/refunds/model/reasons.ts';
import type { PublicRefund } from '../../../shared/refunds/model/refund.ts';
import { refundStatuses } from '../../../shared/refunds/model/states.ts';

export const exampleRefund: PublicRefund = {
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

/** An object in a body, without other fields. */
export function jsonObject<Shape extends z.ZodRawShape>(shape: Shape) {
  return z.strictObject(shape, { error: 'must be a JSON object' });
}

export const refundSchema = z
  .object({
    id: z.string().meta({ description: 'Opaque, prefixed with ref_.' }),
    organizationId: z
      .string()
      .meta({ description: 'The organization that owns the refund; prefixed with org_.' }),
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
    reason: z.enum(refundReasons).meta({ description: 'Why the payment is refunded.' }),
    status: z.enum(refundStatuses).meta({
      description:
        '`pending` is awaiting approval, `processing` is at or on its way to the processor. `completed`, `failed` and ' +
        '`cancelled` are final, except that a `completed` refund becomes `failed` when the processor returns the money.',
    }),
    processor: z.string().meta({ description: 'The payment processor that holds the payment.' }),
    metadata: z
      .record(z.string(), z.unknown())
      .nullable()
      .meta({ description: 'As given at creation; null when none.' }),
    initiatedBy: z.enum(initiators).meta({ description: 'Where the refund was requested.' }),
    createdAt: z.string().meta({ format: 'date-time', description: 'UTC, with milliseconds.' }),
    updatedAt: z.string().meta({
      format: 'date-time',
      description: 'The last change of the refund, here or at the processor; `createdAt` before any.',
    }),
  })
  .meta({ id: 'Refund', description: 'A refund and its status.', examples: [exampleRefund] });

/** Why a refund failed. */
export const failureSchema = z.object({
  code: z.string().meta({ description: 'For programs, for example card_declined.' }),
  message: z.string().meta({ description: 'For people.' }),
});

/** The message for a required field: `is required` when it is missing, otherwise the given one. */
export function required(message: string): (issue: { input?: unknown }) => string {
  return ({ input }) => (input === undefined ? 'is required' : message);
}

/** For `superRefine`: adds what `problemOf` finds wrong with a value, unless that is null. */
export function checkedBy<Value>(
  problemOf: (value: Value) => string | null,
): (value: Value, context: z.RefinementCtx) => void {
  return (value, context) => {
    const message = problemOf(value);
    if (message !== null) context.addIssue({ code: 'custom', message });
  };
}

/** No processor's ids contain whitespace, control characters or non-ASCII characters. */
export const transactionIdSchema = z
  .string({ error: required('must be a string') })
  .min(1, { error: 'must not be empty' })
  .max(255, { error: 'must have at most 255 characters' })
  .regex(/^[\x21-\x7e]*$/, { error: 'must contain visible ASCII characters only' })
  .refine((id) => !isClientSecret(id), {
    error: 'must be a payment id, not a client secret; send the part before _secret_',
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

export const refundParamsSchema = z.object({
  id: z.string().meta({ description: 'The id of the refund, ref_...', examples: [exampleRefund.id] }),
});
