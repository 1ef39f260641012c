import { z } from 'zod';
import { checkGivenReason } from '#shared/refunds/decisions/approve.ts';
import { dryRunRefund } from '#shared/refunds/lifecycle/dry-run.ts';
import { listRefunds as findRefunds } from '#shared/refunds/queries/find-refunds.ts';
import {
  approveByKey,
  cancelByKey,
  changeMetadataByKey,
  createAndWait,
  readWhenChanged,
  refundRequestedBy,
  rejectByKey,
} from '#shared/refunds/requests/key-requests.ts';
import { detailedRefundSchema, include, withIncluded } from './detailed-refund.ts';
import { checkedBy, idParams, jsonObject, listOutput, required } from './fields.ts';
import { operation } from './operation.ts';
import { createRefundSchema } from './refund-creation.ts';
import { refundListQuery } from './refund-list-query.ts';
import {
  dryRunSchema,
  exampleDryRun,
  exampleRefund,
  exampleRefusedDryRun,
  refundSchema,
} from './refund-schemas.ts';

const refunds = { tag: 'Refunds' } as const;

export const refundParamsSchema = idParams('refund, ref_...', exampleRefund.id);

export const createRefund = operation({
  ...refunds,
  id: 'createRefund',
  route: 'POST /v1/refunds',
  scope: 'refunds:write',
  summary: 'Create a refund',
  description:
    'Responds when the processor has accepted or rejected the refund, or after a few seconds, in which case the ' +
    'refund is recorded and processed later. A rejected refund stays on record as failed; `Location` names it. ' +
    'With `dryRun` it responds at once with what the creation would come to, and creates nothing.',
  isIdempotent: true,
  defaultWaitMs: ({ CREATE_WAIT_MS }) => CREATE_WAIT_MS,
  asksProcessor: true,
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
    return report(await createAndWait(deps, request, waitMs));
  },
});

export const getRefund = operation({
  ...refunds,
  id: 'getRefund',
  route: 'GET /v1/refunds/:id',
  scope: 'refunds:read',
  summary: 'Get a refund',
  description: 'With `Prefer: wait=N` it responds when the status changes, or after N seconds.',
  defaultWaitMs: () => 0,
  params: refundParamsSchema,
  query: z.object({ include }),
  answer: 'The refund.',
  output: detailedRefundSchema,
  async run(deps, { apiKey, params, query, waitMs }) {
    const refund = await readWhenChanged(deps, apiKey, params.id, waitMs);
    const [detailed] = await withIncluded(deps, [refund], query.include);
    return detailed as NonNullable<typeof detailed>;
  },
});

export const listRefunds = operation({
  ...refunds,
  id: 'listRefunds',
  route: 'GET /v1/refunds',
  scope: 'refunds:read',
  summary: 'List refunds',
  description:
    'Newest first. All filters that are given have to match. While `hasMore` is true, continue with `after` set to the id of ' +
    'the last refund.',
  query: refundListQuery,
  answer: 'One page of refunds.',
  output: listOutput(detailedRefundSchema),
  hasData: true,
  async run(deps, { apiKey, query: { include: included, ...listing } }) {
    const { refunds: found, hasMore } = await findRefunds(deps.refundReads, apiKey, listing);
    return { data: await withIncluded(deps, found, included), hasMore };
  },
});

export const updateRefund = operation({
  ...refunds,
  id: 'updateRefund',
  route: 'PATCH /v1/refunds/:id',
  scope: 'refunds:write',
  summary: 'Change the metadata of a refund',
  description:
    'Merges the given keys into the metadata, in any status; a key with null is removed. Values are replaced as a whole. The ' +
    'result has the limits of a creation. The timeline gets the names of the keys. A refund whose personal data was erased ' +
    'takes no metadata, nor does one whose timeline has 1,000 entries. An agent key may change only refunds that it requested.',
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
  route: 'POST /v1/refunds/:id/cancel',
  scope: 'refunds:write',
  summary: 'Cancel a refund',
  description:
    'A refund that was not sent to the processor yet is cancelled immediately. Otherwise the processor has to ' +
    'confirm the cancellation; until then the refund stays as it is. An agent key may cancel only refunds that it ' +
    'requested. A body is ignored.',
  isIdempotent: true,
  defaultWaitMs: ({ CANCEL_WAIT_MS }) => CANCEL_WAIT_MS,
  params: refundParamsSchema,
  answer: 'The refund is cancelled: the processor confirmed it, or never received the refund.',
  output: refundSchema,
  examples: { example: { ...exampleRefund, status: 'cancelled', updatedAt: '2026-11-20T09:30:02.000Z' } },
  errors: ['refund_not_cancellable'],
  async run(deps, { apiKey, params, idempotency, waitMs, report }) {
    const request = { refundId: params.id, given: idempotency, waitMs };
    return report(await cancelByKey(deps, apiKey, request));
  },
});

export const approveRefund = operation({
  ...refunds,
  id: 'approveRefund',
  route: 'POST /v1/refunds/:id/approve',
  scope: 'refunds:approve',
  summary: 'Approve a refund',
  description:
    'A refund that awaits approval is sent to its processor. It takes two people: neither the key that requested the ' +
    'refund may approve it, nor any other key of the person behind that key or of someone whom a recent invitation connects ' +
    'with that person. Nothing of a payment that was charged back can be approved. A body is ignored.',
  asksProcessor: true,
  params: refundParamsSchema,
  answer: 'The refund is approved and on its way.',
  output: refundSchema,
  errors: ['refund_not_pending', 'refund_flagged', 'payment_disputed'],
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
  route: 'POST /v1/refunds/:id/reject',
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
