import { z } from 'zod';
import { FAULT_KINDS, OPERATIONS } from './faults.ts';
import type { SandboxProcessor } from './processor.ts';

const environment = z.enum(['test', 'live']);
const amount = z.int('must be a whole number of minor units').positive();
const milliseconds = z.int().nonnegative();

const anyPayment = {
  environment: environment.default('test'),
  amount,
  currency: z
    .string()
    .regex(/^[A-Za-z]{3}$/, 'must be a three-letter ISO 4217 code')
    .toLowerCase(),
  /** ISO 8601, or milliseconds since 1970. */
  createdAt: z
    .union([z.iso.datetime({ offset: true }).transform((text) => Date.parse(text)), z.int()])
    .optional(),
};

/** What the control API takes. */
export type ControlSchemas = ReturnType<typeof controlSchemas>;

export function controlSchemas(processors: readonly SandboxProcessor[]) {
  const processor = z.enum(processors.map(({ name }) => name));
  return {
    newTransaction: z.discriminatedUnion('processor', unionOf(processors.map(newPayment))),
    transactionChange: z.strictObject({
      processor: processor.optional(),
      environment: environment.optional(),
      status: z.string().optional(),
      capturedAmount: amount.optional(),
    }),
    refundChange: z.strictObject({
      status: z.enum(processors.flatMap(({ refundStatuses }) => Object.keys(refundStatuses))),
      failureReason: z.string().min(1).optional(),
    }),
    refundFilter: z.strictObject({
      processor: processor.optional(),
      environment: environment.default('test'),
      transactionId: z.string().optional(),
    }),
    newFault: z.strictObject({
      processor,
      operation: z.enum([...OPERATIONS, '*']),
      kind: z.enum(FAULT_KINDS),
      times: z.int().positive().nullable().default(1),
      delayMs: milliseconds.optional(),
      probability: z.number().gt(0).lte(1).default(1),
      transactionId: z.string().min(1).nullable().default(null),
    }),
    settingsChange: z.strictObject({
      autoSettleMs: milliseconds.nullable().optional(),
      latencyMs: milliseconds.optional(),
      webhooks: z.array(z.discriminatedUnion('processor', unionOf(processors.map(newEndpoint)))).optional(),
    }),
  };
}

function newPayment({ name, payments: { fields, statuses } }: SandboxProcessor) {
  return z.strictObject({
    ...anyPayment,
    // Also without the captured amount, which few processors have.
    ...(fields as Required<typeof fields>),
    processor: z.literal(name),
    id: fields.id.optional(),
    status: z.enum(statuses).default(statuses[0]),
  });
}

function newEndpoint({ name, webhooks }: SandboxProcessor) {
  const keys = webhooks.keys as Record<string, z.ZodType<string>>;
  return z.strictObject({ processor: z.literal(name), environment, url: z.url(), ...keys });
}

/** @throws RangeError for a sandbox without processors. */
function unionOf<T>([first, ...others]: readonly T[]): [T, ...T[]] {
  if (first === undefined) throw new RangeError('A sandbox needs a processor.');
  return [first, ...others];
}
