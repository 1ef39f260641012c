import { z } from 'zod';
import { FAULT_KINDS, OPERATIONS } from './faults.ts';
import { PROCESSORS } from './ledger/ledger.ts';
import { mayNotExist } from './ledger/payments.ts';
import { PAYMENT_STATUSES, REFUND_STATUSES } from './ledger/statuses.ts';

const processor = z.enum(PROCESSORS);
const environment = z.enum(['test', 'live']);
const currency = z
  .string()
  .regex(/^[A-Za-z]{3}$/, 'must be a three-letter ISO 4217 code')
  .toLowerCase();
const amount = z.int('must be a whole number of minor units').positive();

/** ISO 8601, or milliseconds since 1970. */
const createdAt = z.union([z.iso.datetime({ offset: true }).transform((text) => Date.parse(text)), z.int()]);

const exists = (id: string) => !mayNotExist(id);
const EXISTS = "ids containing 'missing' never exist";

const anyPayment = {
  environment: environment.default('test'),
  amount,
  currency,
  createdAt: createdAt.optional(),
};

export const newTransaction = z.discriminatedUnion('processor', [
  z.strictObject({
    ...anyPayment,
    processor: z.literal('stripe'),
    id: z
      .string()
      .regex(/^(ch|py|pi)_[A-Za-z0-9_]+$/, 'must look like ch_..., py_... or pi_...')
      .refine(exists, EXISTS)
      .optional(),
    status: z.enum(PAYMENT_STATUSES.stripe).default('succeeded'),
    capturedAmount: amount.optional(),
    paymentMethod: z.enum(['card', 'customer_balance']).default('card'),
  }),
  z.strictObject({
    ...anyPayment,
    processor: z.literal('braintree'),
    id: z
      .string()
      .regex(
        /^(?!credit_)[A-Za-z0-9_-]{1,36}$/,
        'must be 1 to 36 letters, digits, _ or -, not starting with credit_',
      )
      .refine(exists, EXISTS)
      .optional(),
    status: z.enum(PAYMENT_STATUSES.braintree).default('settled'),
    paymentMethod: z.enum(['card', 'us_bank_account']).default('card'),
  }),
]);

export const transactionChange = z.strictObject({
  processor: processor.optional(),
  environment: environment.optional(),
  status: z.string().optional(),
  capturedAmount: amount.optional(),
});

export const refundChange = z.strictObject({
  status: z.enum(Object.values(REFUND_STATUSES).flat()),
  failureReason: z.string().min(1).optional(),
});

export const refundFilter = z.strictObject({
  processor: processor.optional(),
  environment: environment.default('test'),
  transactionId: z.string().optional(),
});

export const newFault = z.strictObject({
  processor,
  operation: z.enum([...OPERATIONS, '*']),
  kind: z.enum(FAULT_KINDS),
  times: z.int().positive().nullable().default(1),
  delayMs: z.int().nonnegative().optional(),
  probability: z.number().gt(0).lte(1).default(1),
  transactionId: z.string().min(1).nullable().default(null),
});

const milliseconds = z.int().nonnegative();

const secret = z.string().min(1);

const webhookEndpoint = z.discriminatedUnion('processor', [
  z.strictObject({ processor: z.literal('stripe'), environment, url: z.url(), secret }),
  z.strictObject({
    processor: z.literal('braintree'),
    environment,
    url: z.url(),
    publicKey: secret,
    privateKey: secret,
  }),
]);

export const settingsChange = z.strictObject({
  autoSettleMs: milliseconds.nullable().optional(),
  latencyMs: milliseconds.optional(),
  webhooks: z.array(webhookEndpoint).optional(),
});
