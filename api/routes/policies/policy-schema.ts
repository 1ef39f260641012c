import { z } from 'zod';
import { amountSchema, objectError, transactionIdSchema } from '../refunds/refund-schema.ts';

export const checkPolicySchema = z
  .strictObject(
    { transactionId: transactionIdSchema, amount: amountSchema.optional() },
    { error: objectError },
  )
  .meta({ id: 'CheckPolicy', examples: [{ transactionId: 'ch_3QfX2eLkdIwHu7ix', amount: 1500 }] });

export const policyCheckSchema = z
  .object({
    eligible: z
      .boolean()
      .meta({ description: 'Whether the payment, or the amount asked for, may be refunded.' }),
    reason: z.string().meta({ description: 'The decision in words.' }),
    maxAmount: z.int().nullable().meta({
      description:
        'The most that can be refunded now, in the smallest unit; null when the window has closed.',
    }),
    deadline: z
      .string()
      .nullable()
      .meta({ format: 'date-time', description: 'The last moment to ask for it; null when there is none.' }),
    conditions: z.array(z.string()).meta({ description: 'What holds for this payment, in words.' }),
  })
  .meta({
    id: 'PolicyCheck',
    examples: [
      {
        eligible: true,
        reason: 'The transaction can be refunded.',
        maxAmount: 10000,
        deadline: '2026-12-19T09:30:00.000Z',
        conditions: ['Refunds are possible within 30 days of the payment.'],
      },
    ],
  });
