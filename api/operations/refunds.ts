import { z } from 'zod';
import type { Dependencies } from '#shared/dependencies.ts';
import { isCurrency } from '#shared/money/money.ts';
import { policyDecisionOf, readDecision } from '#shared/policies/decision.ts';
import { processorNames } from '#shared/processors/registry.ts';
import { checkGivenReason } from '#shared/refunds/decisions/approve.ts';
import { canBeCancelled } from '#shared/refunds/lifecycle/cancel.ts';
import { dryRunRefund } from '#shared/refunds/lifecycle/dry-run.ts';
import { arrivalOf } from '#shared/refunds/model/arrival.ts';
import { checkMetadata } from '#shared/refunds/model/metadata.ts';
import { initiators, refundReasons } from '#shared/refunds/model/reasons.ts';
import { heldUntilOf, metadataLimits, toFailure, toPublicRefund } from '#shared/refunds/model/refund.ts';
import { refundStatuses } from '#shared/refunds/model/states.ts';
import { listRefunds as findRefunds, type ReadDetails } from '#shared/refunds/queries/find-refunds.ts';
import {
  approveByKey,
  cancelByKey,
  changeMetadataByKey,
  createAndWait,
  readWhenChanged,
  refundRequestedBy,
  rejectByKey,
} from '#shared/refunds/requests/key-requests.ts';
import {
  checkedBy,
  jsonObject,
  listOutput,
  nullableTimeOutput,
  offsetNumber,
  oneOf,
  onlyOnce,
  optionalWholeNumber,
  required,
  someOf,
  wholeNumber,
} from './fields.ts';
import { operation } from './operation.ts';
import {
  amountSchema,
  arrivalSchema,
  dryRunSchema,
  exampleDryRun,
  exampleRefund,
  exampleRefusedDryRun,
  failureSchema,
  policyDecisionSchema,
  refundSchema,
  transactionIdSchema,
} from './refund-schemas.ts';

const refunds = { tag: 'Refunds' } as const;

export const refundParamsSchema = z.object({
  id: z.string().meta({ description: 'The id of the refund, ref_...', examples: [exampleRefund.id] }),
});

/** The fields of a request for a refund. */
export const creationShape = {
  transactionId: transactionIdSchema,
  amount: amountSchema.optional(),
  remaining: z
    .literal(true, { error: 'must be true, or left out' })
    .optional()
    .meta({
      description:
        'True in place of `amount` to refund all that is left of the payment. It is decided when the refund is created, so that ' +
        'concurrent refunds never exceed the payment; a payment with nothing left gets `refund_already_processed`.',
    }),
  reason: z
    .enum(refundReasons, { error: required(`must be one of: ${refundReasons.join(', ')}`) })
    .meta({ description: 'Why the payment is refunded.' }),
  currency: z
    .string({ error: 'must be a string' })
    .regex(/^[A-Za-z]{3}$/, { error: 'must be a three-letter ISO 4217 currency code' })
    .refine((code) => isCurrency(code.toLowerCase()), { error: 'must be an ISO 4217 currency' })
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
        `${metadataLimits.depth} levels deep, ${metadataLimits.bytes} bytes as JSON. Do not include card numbers.`,
      examples: [{ ticket: 'T-1001' }],
    }),
};

export const createRefundSchema = withAmount(
  jsonObject({
    ...creationShape,
    dryRun: z.boolean({ error: 'must be true or false' }).optional().meta({
      description: 'True to learn what the creation would come to. Nothing is reserved, sent or stored.',
    }),
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

/** Requires either an amount or all that is left. It is checked beside other invalid fields. */
export function withAmount<
  Schema extends z.ZodType<{ amount?: number | undefined; remaining?: true | undefined }>,
>(schema: Schema): Schema {
  return schema
    .refine(({ amount, remaining }) => amount !== undefined || remaining !== undefined, {
      ...{ path: ['amount'], error: 'is required, unless remaining is true' },
      when: ({ value }) => isObject(value),
    })
    .refine(({ amount, remaining }) => amount === undefined || remaining === undefined, {
      ...{ path: ['remaining'], error: 'cannot be combined with amount' },
      when: ({ value }) => isObject(value),
    });
}

function isObject(value: unknown): boolean {
  return typeof value === 'object' && value !== null;
}

export const createRefund = operation({
  ...refunds,
  id: 'createRefund',
  method: 'POST',
  path: '/v1/refunds',
  scope: 'refunds:write',
  summary: 'Create a refund',
  description:
    'Responds when the processor has accepted or rejected the refund, or after a few seconds, in which case the ' +
    'refund is recorded and processed later. A rejected refund stays on record as failed; `Location` names it. ' +
    'With `dryRun` it responds at once with what the creation would come to, and creates nothing.',
  isIdempotent: true,
  waits: true,
  body: createRefundSchema,
  answer:
    'The refund as created; `externalRefundId` is null until the processor has one. For a dry run, what the creation would ' +
    'come to.',
  output: z.union([refundSchema, dryRunSchema]),
  examples: { refund: exampleRefund, dryRun: exampleDryRun, refusedDryRun: exampleRefusedDryRun },
  errors: ['policy_denied', 'refund_already_processed', 'processor_error'],
  async run(deps, { apiKey, source, body: { dryRun = false, ...content }, idempotency, waitMs, report }) {
    const request = refundRequestedBy(apiKey, source, content, idempotency);
    if (dryRun) return await dryRunRefund(deps, request);
    return report(await createAndWait(deps, request, () => waitMs(deps.settings.CREATE_WAIT_MS)));
  },
});

const include = someOf(
  ['failure', 'cancellable', 'arrival', 'policy', 'heldUntil'],
  'Fields to add to each refund. Repeat the parameter, or separate the fields by commas.',
);

const detailedRefundSchema = refundSchema
  .extend({
    failure: failureSchema.nullable().optional().meta({
      description: 'With `include=failure`: why the refund failed; null for any other status.',
    }),
    cancellable: z
      .boolean()
      .optional()
      .meta({ description: 'With `include=cancellable`: whether a cancellation sent now can succeed.' }),
    arrival: arrivalSchema
      .nullable()
      .optional()
      .meta({
        description:
          "With `include=arrival`: when the money reaches the customer's bank, and what it is known by there; null unless the " +
          'processor has accepted the refund, and when it failed or was cancelled.',
      }),
    policy: policyDecisionSchema
      .nullable()
      .optional()
      .meta({
        description:
          'With `include=policy`: the policy that decided when the refund was created; null when none matched, when the ' +
          'payment was not known yet, and for refunds that were created before decisions were kept.',
      }),
    heldUntil: nullableTimeOutput(
      'With `include=heldUntil`: until when a policy holds the refund before it is sent. A cancellation before then succeeds. Null ' +
        'for a refund that is not held, also while it awaits approval: the hold begins with the approval.',
    ).optional(),
  })
  .meta({
    id: 'DetailedRefund',
    description: 'A refund, with the fields that were asked for.',
    examples: [
      exampleRefund,
      {
        ...exampleRefund,
        ...{ failure: null, cancellable: false },
        policy: { name: 'Default 30-day policy', decision: 'not_blocked' },
      },
    ],
  });

export const getRefund = operation({
  ...refunds,
  id: 'getRefund',
  method: 'GET',
  path: '/v1/refunds/:id',
  scope: 'refunds:read',
  summary: 'Get a refund',
  description: 'With `Prefer: wait=N` it responds when the status changes, or after N seconds.',
  waits: true,
  params: refundParamsSchema,
  query: z.object({ include }),
  answer: 'The refund.',
  output: detailedRefundSchema,
  run: async (deps, { apiKey, params, query, waitMs }) =>
    withIncluded(deps, await readWhenChanged(deps, apiKey, params.id, () => waitMs(0)), query.include),
});

function withIncluded(
  { clock }: Pick<Dependencies, 'clock'>,
  refund: ReadDetails,
  included: readonly string[] = [],
): z.output<typeof detailedRefundSchema> {
  return {
    ...toPublicRefund(refund),
    ...(included.includes('failure')
      ? { failure: refund.status === 'failed' ? toFailure(refund) : null }
      : {}),
    ...(included.includes('cancellable') ? { cancellable: canBeCancelled(refund) } : {}),
    ...(included.includes('arrival') ? { arrival: arrivalOf(refund) } : {}),
    ...(included.includes('policy') ? { policy: policyDecisionOf(readDecision(refund.decision)) } : {}),
    ...(included.includes('heldUntil')
      ? { heldUntil: heldUntilOf(refund, clock.now())?.toISOString() ?? null }
      : {}),
  };
}

/** Visible ASCII characters, as in every name and id of a processor. */
const visibleText = (longest: number) =>
  z
    .string({ error: onlyOnce })
    .min(1, { error: 'must not be empty' })
    .max(longest, { error: `must have at most ${longest} characters` })
    .regex(/^[\x21-\x7e]*$/, { error: 'must contain visible ASCII characters only' })
    .optional();

const timeError = 'must be an ISO 8601 date or time with a zone, such as 2026-11-20T09:30:00Z';

/** A time from 1970 to 9999. Refunds are created at whole milliseconds, so that finer times are rounded up. */
const time = (description: string) =>
  z
    .union(
      [z.iso.datetime({ offset: true }), z.iso.datetime({ offset: true, precision: -1 }), z.iso.date()],
      {
        error: ({ input }) => (typeof input === 'string' ? timeError : onlyOnce),
      },
    )
    .transform((text) => new Date(Date.parse(text) + (/\.\d{3}\d*[1-9]/.test(text) ? 1 : 0)))
    .refine((date) => date.getUTCFullYear() >= 1970 && date.getUTCFullYear() <= 9999, { error: timeError })
    .optional()
    .meta({
      description,
      type: 'string',
      format: 'date-time',
      anyOf: undefined,
      examples: ['2026-11-20T09:30:00Z'],
    });

/** Clients may send any of these, which arrives as text. */
export const scalarMeta = { type: ['string', 'number', 'boolean'] };

const greatestAmount = Number.MAX_SAFE_INTEGER;

export const listRefundsQuerySchema = z.object({
  status: oneOf(refundStatuses).optional().meta({ description: 'Only refunds with this status.' }),
  processor: visibleText(50).meta({
    description: 'Only refunds at this processor.',
    examples: ['stripe'],
  }),
  transactionId: visibleText(255).meta({
    description: 'Only refunds of this charge or payment.',
    examples: [exampleRefund.transactionId],
  }),
  reason: oneOf(refundReasons).optional().meta({ description: 'Only refunds for this reason.' }),
  initiatedBy: oneOf(initiators).optional().meta({ description: 'Only refunds that were requested there.' }),
  currency: z
    .string({ error: onlyOnce })
    .toLowerCase()
    .refine(isCurrency, { error: 'must be an ISO 4217 currency, such as usd' })
    .optional()
    .meta({ description: 'Only refunds in this currency.', examples: ['usd'] }),
  createdAfter: time('Only refunds created at this time or later.'),
  createdBefore: time('Only refunds created before this time.'),
  amountMin: optionalWholeNumber('Only refunds of at least this amount.', 0, greatestAmount),
  amountMax: optionalWholeNumber('Only refunds of at most this amount.', 0, greatestAmount),
  metadata: z
    .record(z.string(), z.string({ error: onlyOnce }).meta(scalarMeta), {
      error: 'must be sent as metadata[key]=value',
    })
    .optional()
    .meta({
      description:
        'Only refunds with this value in the first level of their metadata: `metadata[order]=1001`. Compared as text with ' +
        'strings, numbers and booleans.',
      examples: [{ ticket: 'T-1001' }],
      style: 'deepObject',
      explode: true,
    }),
  include,
  limit: wholeNumber('The maximum number of refunds to return.', 1, 100, 25),
  offset: offsetNumber('How many of the newest refunds to skip.', 'use after to read further'),
  after: z
    .string({ error: onlyOnce })
    .optional()
    .meta({
      description:
        'The id of the refund to continue after: the last one of the previous page. Unlike with `offset`, refunds that are ' +
        'created meanwhile neither repeat nor skip others, and every page costs the same.',
      examples: [exampleRefund.id],
    }),
});

/** No refund has the key __proto__, which the schema would drop. */
const metadataParameter = new RegExp(
  `^metadata\\[(?!__proto__\\])(.{1,${metadataLimits.keyLength}})\\]$`,
  's',
);

/** Gathers `metadata[key]` parameters, which arrive one by one, in one object. */
function gatherMetadata(query: unknown): unknown {
  const entries = Object.entries(query as Record<string, unknown>);
  const isMetadata = ([name]: [string, unknown]) => metadataParameter.test(name);
  const found = entries.filter(isMetadata);
  if (found.length === 0) return query;
  const metadata = found.map(([name, value]) => [metadataParameter.exec(name)?.[1] ?? name, value]);
  return Object.fromEntries([
    ...entries.filter((entry) => !isMetadata(entry)),
    ['metadata', Object.fromEntries(metadata)],
  ]);
}

export const listRefunds = operation({
  ...refunds,
  id: 'listRefunds',
  method: 'GET',
  path: '/v1/refunds',
  scope: 'refunds:read',
  summary: 'List refunds',
  description:
    'Newest first. All filters that are given have to match. While `hasMore` is true, continue with `after` set to the id of ' +
    'the last refund.',
  query: z.preprocess(gatherMetadata, listRefundsQuerySchema.strict()),
  answer: 'One page of refunds.',
  output: listOutput(detailedRefundSchema),
  hasData: true,
  async run(deps, { apiKey, query: { include: included, ...listing } }) {
    const withDecision = included?.includes('policy') ?? false;
    const { refunds: found, hasMore } = await findRefunds(deps.refundReads, apiKey, {
      ...listing,
      withDecision,
    });
    return { data: found.map((refund) => withIncluded(deps, refund, included)), hasMore };
  },
});

export const updateRefund = operation({
  ...refunds,
  id: 'updateRefund',
  method: 'PATCH',
  path: '/v1/refunds/:id',
  scope: 'refunds:write',
  summary: 'Change the metadata of a refund',
  description:
    'Merges the given keys into the metadata, in any status; a key with null is removed. Values are replaced as a whole. The ' +
    'result has the limits of a creation. The timeline gets the names of the keys. A refund whose personal data was erased ' +
    'takes no metadata. An agent key may change only refunds that it requested.',
  params: refundParamsSchema,
  body: jsonObject({
    metadata: z.record(z.string(), z.unknown(), { error: required('must be an object') }).meta({
      description: 'Keys with their new values; null removes a key.',
      examples: [{ ticket: 'T-1002', order: null }],
    }),
  }).meta({ examples: [{ metadata: { ticket: 'T-1002', order: null } }] }),
  answer: 'The refund with its metadata as it is now.',
  output: refundSchema,
  run: async (deps, { apiKey, params, body }) =>
    await changeMetadataByKey(deps, apiKey, params.id, body.metadata),
});

export const cancelRefund = operation({
  ...refunds,
  id: 'cancelRefund',
  method: 'POST',
  path: '/v1/refunds/:id/cancel',
  scope: 'refunds:write',
  summary: 'Cancel a refund',
  description:
    'A refund that was not sent to the processor yet is cancelled immediately. Otherwise the processor has to ' +
    'confirm the cancellation; until then the refund stays as it is. An agent key may cancel only refunds that it ' +
    'requested. A body is ignored.',
  isIdempotent: true,
  waits: true,
  params: refundParamsSchema,
  answer: 'The refund is cancelled: the processor confirmed it, or never received the refund.',
  output: refundSchema,
  examples: { example: { ...exampleRefund, status: 'cancelled', updatedAt: '2026-11-20T09:30:02.000Z' } },
  errors: ['refund_not_cancellable'],
  async run(deps, { apiKey, params, idempotency, waitMs, report }) {
    const request = {
      refundId: params.id,
      given: idempotency,
      waitMs: waitMs(deps.settings.CANCEL_WAIT_MS),
    };
    return report(await cancelByKey(deps, apiKey, request));
  },
});

export const approveRefund = operation({
  ...refunds,
  id: 'approveRefund',
  method: 'POST',
  path: '/v1/refunds/:id/approve',
  scope: 'refunds:approve',
  summary: 'Approve a refund',
  description:
    'A refund that awaits approval is sent to its processor. It takes two people: neither the key that requested the ' +
    'refund may approve it, nor any other key of the person behind that key or of someone whom a recent invitation connects ' +
    'with that person. A body is ignored.',
  params: refundParamsSchema,
  answer: 'The refund is approved and on its way.',
  output: refundSchema,
  errors: ['refund_not_pending', 'refund_flagged'],
  run: async (deps, { apiKey, params }) => await approveByKey(deps, apiKey, params.id),
});

const rejectRefundSchema = jsonObject({
  reason: z.string({ error: 'must be a string' }).superRefine(checkedBy(checkGivenReason)).nullish().meta({
    description: 'Up to 500 printable characters, for the timeline and the audit log.',
    pattern: '\\S',
    maxLength: 500,
  }),
}).meta({ examples: [{ reason: 'The customer wants an exchange.' }] });

export const rejectRefund = operation({
  ...refunds,
  id: 'rejectRefund',
  method: 'POST',
  path: '/v1/refunds/:id/reject',
  scope: 'refunds:approve',
  summary: 'Reject a refund',
  description:
    'A refund that awaits approval is cancelled and never sent. Its amount becomes refundable again.',
  params: refundParamsSchema,
  body: rejectRefundSchema.nullish(),
  answer: 'The refund is cancelled.',
  output: refundSchema,
  errors: ['refund_not_pending'],
  run: async (deps, { apiKey, params, body }) =>
    await rejectByKey(deps, apiKey, params.id, body?.reason ?? null),
});
