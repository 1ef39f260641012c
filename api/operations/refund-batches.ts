import { z } from 'zod';
import {
  batchModes,
  batchStatuses,
  countRefundsOf,
  findBatch,
  findBatches,
  maxRows,
  readResults,
  rowStates,
  toPublicBatch,
} from '#shared/batches/batch.ts';
import { createBatch } from '#shared/batches/create-batch.ts';
import { readCsvRows, resultsInCsv } from '#shared/batches/csv.ts';
import { type BatchChange, pauseBatch, resumeBatch } from '#shared/batches/pause.ts';
import type { ApiKey, RefundBatch } from '#shared/platform/database.ts';
import { ServiceError } from '#shared/platform/errors.ts';
import { refundStatuses } from '#shared/refunds/model/states.ts';
import { isOwn, ownedKey } from '#shared/refunds/requests/key-requests.ts';
import { readRows, rowSchema } from './batch-rows.ts';
import {
  idParams,
  jsonObject,
  listOutput,
  nullableTimeOutput,
  offsetNumber,
  oneOf,
  pageOfList,
  required,
  timeOutput,
  wholeNumber,
} from './fields.ts';
import { type Call, type OperationDependencies, operation } from './operation.ts';
import { exampleRefund } from './refund-schemas.ts';

/** The most bytes of a body. */
export const batchLimitBytes = 4 * 1024 * 1024;

const batches = { tag: 'Refund batches' } as const;

const { $schema: _, ...rowJsonSchema } = z.toJSONSchema(rowSchema, { io: 'input', unrepresentable: 'any' });

/** Rows are validated one by one, so that some may be invalid. */
const createBatchSchema = jsonObject({
  rows: z
    .array(z.unknown().meta(rowJsonSchema), { error: required('must be a list') })
    .min(1, { error: 'must not be empty' })
    .max(maxRows, { error: `must have at most ${maxRows} rows` })
    .describe('The requests for refunds.'),
}).meta({
  examples: [
    {
      rows: [
        { transactionId: 'ch_3QfX2eLkdIwHu7ix', amount: 1500, reason: 'product_defective' },
        {
          transactionId: 'ch_3QfX9aLkdIwHu7tz',
          remaining: true,
          reason: 'wrong_product',
          metadata: { order_id: '1002' },
        },
      ],
    },
  ],
});

const exampleBatch = {
  id: 'bat_01kahw5j0qe9hbm5x8d2tn3c7r',
  status: 'processing' as const,
  pauseReason: null,
  mode: 'strict' as const,
  rows: { total: 2, waiting: 1, created: 1, rejected: 0 },
  createdAt: '2026-11-20T09:30:00.000Z',
  completedAt: null,
};

const batchSchema = z
  .object({
    id: z.string().describe('Opaque, prefixed with bat_.'),
    status: z
      .enum(batchStatuses)
      .describe('`completed`: no row waits. Refunds that were created may still be on their way.'),
    pauseReason: z
      .string()
      .nullable()
      .describe('Why it is paused, or is about to be: `requested`; null when it is not.'),
    mode: z.enum(batchModes).describe('How invalid rows were handled.'),
    rows: z
      .object({
        total: z.int().describe('All rows.'),
        waiting: z.int().describe('Rows whose refund is not created yet.'),
        created: z.int().describe('Rows that have a refund, in any status.'),
        rejected: z.int().describe('Rows that were invalid, or whose refund was refused.'),
      })
      .describe('Rows by state.'),
    createdAt: timeOutput(),
    completedAt: nullableTimeOutput('When the last row was done; null before.'),
  })
  .meta({ id: 'RefundBatch', description: 'Many refunds of one request.', examples: [exampleBatch] });

const countsSchema = z
  .object(
    Object.fromEntries(refundStatuses.map((status) => [status, z.int()])) as Record<
      (typeof refundStatuses)[number],
      z.ZodInt
    >,
  )
  .describe('The refunds of the batch by their status now.');

const detailedBatchSchema = batchSchema.extend({ refunds: countsSchema }).meta({
  id: 'DetailedRefundBatch',
  description: 'A batch with its progress.',
  examples: [
    { ...exampleBatch, refunds: { pending: 0, processing: 0, completed: 1, failed: 0, cancelled: 0 } },
  ],
});

const resultSchema = z
  .object({
    row: z.int().describe('The number of the row, from 1. The header of a CSV file is not counted.'),
    state: z.enum(rowStates).describe('What came of the row.'),
    transactionId: z.string().nullable().describe('Null for a row that was invalid.'),
    refundId: z.string().nullable().describe('Null without a refund.'),
    amount: z.int().nullable().describe('Of the refund, in the smallest unit of the currency.'),
    currency: z.string().nullable().describe('ISO 4217, lowercase.'),
    refundStatus: z.enum(refundStatuses).nullable().describe('Of the refund, now.'),
    errorCode: z
      .string()
      .nullable()
      .describe(
        'Why the row was rejected, why it still waits after it was tried, or why its refund failed. `requester_ended`: the API key or the ' +
          'user that created the batch could not create refunds any more when the turn of the row came; send it again.',
      ),
    errorMessage: z.string().nullable().describe('The same for people.'),
  })
  .meta({
    id: 'RefundBatchResult',
    examples: [
      {
        ...{
          row: 1,
          state: 'created' as const,
          transactionId: exampleRefund.transactionId,
          refundId: exampleRefund.id,
        },
        ...{
          amount: 1500,
          currency: 'usd',
          refundStatus: 'completed' as const,
          errorCode: null,
          errorMessage: null,
        },
      },
    ],
  });

const batchParamsSchema = idParams('batch, bat_...', exampleBatch.id);

const resultsQuerySchema = z.object({
  state: oneOf(rowStates).optional().describe('Only rows in this state.'),
  after: wholeNumber('The number of the row after which the page begins.', 0, maxRows, 0),
  limit: wholeNumber('The maximum number of rows to return.', 1, 1_000, 100),
});

/** An agent key changes only its own batches, as with refunds. @throws ServiceError */
async function changeOf(
  { db }: OperationDependencies,
  { apiKey, actor, params }: Call<z.output<typeof batchParamsSchema>>,
): Promise<BatchChange> {
  const batch = await findBatch(db, apiKey, params.id);
  if (isOwnBatch(apiKey, batch)) return { owner: apiKey, batchId: batch.id, actor };
  throw new ServiceError(
    'insufficient_scope',
    'An agent key may pause and resume only batches that it created. Use another key.',
  );
}

function isOwnBatch(apiKey: ApiKey, { actor }: RefundBatch): boolean {
  return isOwn(apiKey, { apiKeyId: actor.replace(/^key:/, '') });
}

/** Many refunds of one request. */
export const batchOperations = [
  operation({
    ...batches,
    id: 'createRefundBatch',
    route: 'POST /v1/refund-batches',
    scope: 'refunds:write',
    summary: 'Create a batch of refunds',
    description:
      `Stores up to ${maxRows} requests for refunds, in JSON or as CSV, which are then worked off one after the other, each as if it ` +
      'was sent on its own with the same API key. Invalid rows refuse the whole batch, and the error lists them, unless `mode` is ' +
      '`partial`. The first line of CSV names the columns: `transactionId`, `amount` or `amountMinor` (both in the smallest unit; empty: all that ' +
      'is left), `reason`, and if ' +
      'needed `currency`, `processor`, `account`, `connectedAccount`, `idempotencyKey` and `metadata.<key>`.',
    isIdempotent: true,
    bodyLimitBytes: batchLimitBytes,
    readCsv: async (text) => ({ rows: await readCsvRows(text) }),
    query: z.object({
      mode: oneOf(batchModes)
        .default('strict')
        .describe(
          '`strict`: an invalid row refuses the whole batch. `partial`: it is rejected, and the others go on. Of the invalid rows, the first 20 are in the results.',
        ),
    }),
    body: createBatchSchema,
    answer: 'The batch. Its rows wait.',
    output: batchSchema,
    async run(deps, { apiKey, actor, query, body, idempotency, report }) {
      const { organizationId, environment } = apiKey;
      const { batch, isReplayed } = await createBatch(deps, {
        ...{ organizationId, environment, actor, mode: query.mode, rows: await readRows(body.rows) },
        idempotencyKey: (ofRows) => ownedKey(apiKey, idempotency?.key ?? ofRows),
      });
      return report({ answer: toPublicBatch(batch), isReplayed });
    },
  }),

  operation({
    ...batches,
    id: 'listRefundBatches',
    route: 'GET /v1/refund-batches',
    scope: 'refunds:read',
    summary: 'List batches',
    description: 'Batches are kept for 90 days after their last change; their refunds are kept for good.',
    query: z.object({
      limit: wholeNumber('The maximum number of batches to return.', 1, 100, 25),
      offset: offsetNumber('The number of batches to skip.', 'read a smaller offset'),
    }),
    answer: 'One page of batches, the newest first.',
    output: listOutput(batchSchema),
    hasData: true,
    async run({ db }, { apiKey, query }) {
      const found = await findBatches(db, apiKey, { ...query, limit: query.limit + 1 });
      return pageOfList(found.map(toPublicBatch), query.limit);
    },
  }),

  operation({
    ...batches,
    id: 'getRefundBatch',
    route: 'GET /v1/refund-batches/:id',
    scope: 'refunds:read',
    summary: 'Get a batch and its progress',
    description: 'Counts the rows by state, and the refunds by status.',
    params: batchParamsSchema,
    answer: 'The batch.',
    output: detailedBatchSchema,
    async run({ db }, { apiKey, params }) {
      const batch = await findBatch(db, apiKey, params.id);
      return { ...toPublicBatch(batch), refunds: await countRefundsOf(db, batch.id) };
    },
  }),

  operation({
    ...batches,
    id: 'listRefundBatchResults',
    route: 'GET /v1/refund-batches/:id/results',
    scope: 'refunds:read',
    summary: 'Get the results of a batch',
    description:
      'What came of each row, in their order. With `Accept: text/csv` all of them, or those in a `state`, as a file; `after` and `limit` are for pages in JSON.',
    params: batchParamsSchema,
    query: resultsQuerySchema,
    answer: 'One page of rows.',
    output: listOutput(resultSchema),
    hasData: true,
    async csv({ db }, { apiKey, params, query: { state } }) {
      const { id } = await findBatch(db, apiKey, params.id);
      return await resultsInCsv(db, id, state);
    },
    async run({ db }, { apiKey, params, query: { after, limit, state } }) {
      const { id } = await findBatch(db, apiKey, params.id);
      const found = await readResults(db, id, { after, limit: limit + 1, state });
      return pageOfList(found, limit);
    },
  }),

  operation({
    ...batches,
    id: 'pauseRefundBatch',
    route: 'POST /v1/refund-batches/:id/pause',
    scope: 'refunds:write',
    summary: 'Pause a batch',
    description:
      'No further row is begun, except for up to 50 that are being worked on; it is `paused` when each row that has a refund counts as ' +
      '`created`. Refunds that were created go on. A batch that is paused or completed stays as it is. A body is ignored.',
    params: batchParamsSchema,
    answer: 'The batch.',
    output: batchSchema,
    run: async (deps, call) => toPublicBatch(await pauseBatch(deps, await changeOf(deps, call))),
  }),

  operation({
    ...batches,
    id: 'resumeRefundBatch',
    route: 'POST /v1/refund-batches/:id/resume',
    scope: 'refunds:write',
    summary: 'Resume a batch',
    description:
      'Goes on with the rows that wait. They are rejected if the API key or the user that created the batch may not create refunds any more. ' +
      'A body is ignored.',
    params: batchParamsSchema,
    answer: 'The batch.',
    output: batchSchema,
    run: async (deps, call) => toPublicBatch(await resumeBatch(deps, await changeOf(deps, call))),
  }),
];
