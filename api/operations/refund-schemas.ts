import { z } from 'zod';
import { policyDecisions } from '#shared/policies/decision.ts';
import { isClientSecret } from '#shared/processors/contract/credentials.ts';
import { initiators, refundReasons } from '#shared/refund-request/reasons.ts';
import type { PublicRefund } from '#shared/refunds/model/refund.ts';
import { initialStatuses, refundStatuses } from '#shared/refunds/model/states.ts';
import { waitingReasons } from '#shared/refunds/model/waiting.ts';
import { errorCodes, nullableTimeOutput, required, timeOutput } from './fields.ts';

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

export const refundSchema = z
  .object({
    id: z.string().describe('Opaque, prefixed with ref_.'),
    organizationId: z.string().describe('The organization that owns the refund; prefixed with org_.'),
    externalRefundId: z.string().nullable().describe("The processor's id; null until it has one."),
    transactionId: z.string().describe('The id of the charge or payment at the processor.'),
    amount: z.int().positive().describe('In the smallest unit of the currency, for example cents.'),
    currency: z.string().describe('ISO 4217, lowercase.'),
    reason: z.enum(refundReasons).describe('Why the payment is refunded.'),
    status: z
      .enum(refundStatuses)
      .describe(
        '`pending` is awaiting approval, `processing` is at or on its way to the processor. `completed`, `failed` and ' +
          '`cancelled` are final, except that a `completed` refund becomes `failed` when the processor returns the money.',
      ),
    processor: z.string().describe('The payment processor that holds the payment.'),
    metadata: z
      .record(z.string(), z.unknown())
      .nullable()
      .describe('As given at creation or changed since; null when none.'),
    initiatedBy: z.enum(initiators).describe('Where the refund was requested.'),
    createdAt: timeOutput(),
    updatedAt: timeOutput('The last change of the refund, here or at the processor; `createdAt` before any.'),
  })
  .meta({ id: 'Refund', description: 'A refund and its status.', examples: [exampleRefund] });

/** Why a refund failed. */
export const failureSchema = z.object({
  code: z.string().describe('For programs, for example card_declined.'),
  message: z.string().describe('For people.'),
});

export const arrivalSchema = z.object({
  kind: z
    .enum(['credit', 'reversal'])
    .describe(
      "`reversal`: the refund is taken off the original charge on the customer's statement, and no credit follows.",
    ),
  expectedBy: z
    .string()
    .nullable()
    .meta({
      format: 'date',
      description:
        'An estimate: the last day on which a credit usually arrives, 10 business days after it was sent to the bank; null for a ' +
        'reversal, and while the processor holds the money, which `include=waiting` explains.',
    }),
  reference: z
    .string()
    .nullable()
    .describe("What the customer's bank finds the refund by; null until the processor knows it."),
  referenceType: z
    .string()
    .nullable()
    .describe('What the processor calls the reference, for example acquirer_reference_number.'),
});

/** Why a refund is not moving. */
export const waitingSchema = z.object({
  reason: z
    .enum(waitingReasons)
    .describe(
      'What it waits for: `approval` by a person; `hold`, the delay of a policy; `processor_unreachable`; `rate_limited` by the ' +
        'processor; `credentials`, which the processor refuses; `insufficient_balance` at the processor; `payment_unsettled`, ' +
        'until the payment settles; `customer_action`, such as entering bank details; `unknown_outcome`, which is looked up ' +
        'before anything is sent again; `approval_at_processor` by a reviewer there; `settlement`, on its way; `recovery` of ' +
        'the service from a backup.',
    ),
  since: timeOutput('Since when it waits for that.'),
  until: nullableTimeOutput(
    "When the hold ends, the service tries again, or the processor's request to the customer expires; null where that is not known.",
  ),
});

/** The account that holds the payment of a refund. */
export const refundAccountSchema = z.object({
  id: z.string().describe('Opaque, prefixed with acc_.'),
  name: z.string().describe('What people and requests call it.'),
  connectedAccount: z
    .string()
    .nullable()
    .describe(
      "The processor's id of the connected account; null for an account with credentials of its own.",
    ),
});

/** What goes with a refund. */
export const refundOptionsSchema = z.object({
  reverseTransfer: z.boolean().optional().describe('Whether the transfer is reversed in proportion.'),
  refundApplicationFee: z
    .boolean()
    .optional()
    .describe('Whether the application fee is refunded in proportion.'),
  instructionsEmail: z.string().optional().describe('Where the customer is asked how to receive the money.'),
});

/** What a policy said of a refund that was created. */
export const policyDecisionSchema = z.object({
  name: z.string().describe('The name of the policy at that time.'),
  decision: z
    .enum(policyDecisions)
    .describe(
      '`not_blocked`: the policy denies the refund, but does not block refunds that are requested this way.',
    ),
});

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
    wouldCreate: z
      .boolean()
      .describe(
        'Whether the same request without `dryRun` would create a refund now. False without an error when its ' +
          'Idempotency-Key already has a refund.',
      ),
    status: z
      .enum(initialStatuses)
      .nullable()
      .describe('The status in which the refund would start; null when none would be created.'),
    error: z
      .object({
        code: z.enum(errorCodes).describe('For programs.'),
        message: z.string().describe('For people: what is wrong and what to do.'),
      })
      .nullable()
      .describe('The error that the creation would get; null when there is none.'),
    policy: z
      .object({
        name: z.string().describe('The name of the policy.'),
        eligible: z
          .boolean()
          .describe('Whether the policy allows the refund. A policy that is not enforced only advises.'),
        trace: z.array(z.string()).describe('How it was decided, step by step, for people.'),
      })
      .nullable()
      .describe('The policy that decides; null when none matches, or the payment is not known.'),
    maxAmount: z
      .int()
      .nonnegative()
      .describe(
        'The most that can be refunded now, in the smallest unit of the currency; 0 when nothing is left.',
      ),
  })
  .meta({
    id: 'RefundDryRun',
    description: 'What a creation would come to. Nothing is reserved, sent or stored.',
    examples: [exampleDryRun, exampleRefusedDryRun],
  });
