import { z } from 'zod';
import { initialStatuses } from '../../../shared/refunds/model/states.ts';
import { apiErrorCodes } from '../../http/route.ts';

/** What a dry run of an allowed refund answers. */
export const exampleDryRun = {
  wouldCreate: true,
  status: 'processing' as const,
  error: null,
  policy: {
    name: 'Default 30-day policy',
    eligible: true,
    trace: [
      'policy "Default 30-day policy" with priority 100: matches',
      'not fully refunded: passed',
      'refund window: passed',
      'amount: passed',
    ],
  },
  maxAmount: 10000,
};

/** What a dry run of a refund above what is left answers. */
export const exampleRefusedDryRun = {
  ...exampleDryRun,
  wouldCreate: false,
  status: null,
  error: {
    code: 'validation_error' as const,
    message: 'amount: must be at most 1000 (10.00 USD), which is left to refund.',
  },
  policy: {
    ...exampleDryRun.policy,
    eligible: false,
    trace: [...exampleDryRun.policy.trace.slice(0, -1), 'amount: denied'],
  },
  maxAmount: 1000,
};

export const dryRunSchema = z
  .object({
    wouldCreate: z.boolean().meta({
      description:
        'Whether the same request without `dryRun` would create a refund now. False without an error when its ' +
        'Idempotency-Key already has a refund.',
    }),
    status: z
      .enum(initialStatuses)
      .nullable()
      .meta({ description: 'The status in which the refund would start; null when none would be created.' }),
    error: z
      .object({
        code: z.enum(apiErrorCodes).meta({ description: 'For programs.' }),
        message: z.string().meta({ description: 'For people: what is wrong and what to do.' }),
      })
      .nullable()
      .meta({ description: 'The error that the creation would get; null when there is none.' }),
    policy: z
      .object({
        name: z.string().meta({ description: 'The name of the policy.' }),
        eligible: z.boolean().meta({
          description: 'Whether the policy allows the refund. A policy that is not enforced only advises.',
        }),
        trace: z.array(z.string()).meta({ description: 'How it was decided, step by step, for people.' }),
      })
      .nullable()
      .meta({
        description: 'The policy that decides; null when none matches, or the payment is not known.',
      }),
    maxAmount: z.int().nonnegative().meta({
      description:
        'The most that can be refunded now, in the smallest unit of the currency; 0 when nothing is left.',
    }),
  })
  .meta({
    id: 'RefundDryRun',
    description: 'What a creation would come to. Nothing is reserved, sent or stored.',
    examples: [exampleDryRun, exampleRefusedDryRun],
  });
