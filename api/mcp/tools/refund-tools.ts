import { z } from 'zod';
import { cancelAndWait } from '../../../shared/refunds/lifecycle/cancel.ts';
import { toPublicRefund } from '../../../shared/refunds/model/refund.ts';
import { listRefunds, readRefund } from '../../../shared/refunds/queries/find-refunds.ts';
import { cancellationBy, cancellationRefused } from '../../routes/refunds/cancel.ts';
import { listRefundsQuerySchema, scalarMeta } from '../../routes/refunds/list.ts';
import { jsonObject, refundSchema, required } from '../../routes/refunds/refund-schema.ts';
import { defineTool } from './tool.ts';

/** The arguments of a tool for one refund. */
const refundIdInput = jsonObject({
  refundId: z
    .string({ error: required('must be a string') })
    .meta({ description: "The refund's id, which begins with ref_." }),
});

const refundOutput = z.object({ refund: refundSchema });

export const getRefundTool = defineTool({
  name: 'get_refund',
  title: 'Get refund',
  description:
    'Reads one refund by its id. Use it to follow a refund after create_refund: `pending` is awaiting approval by a ' +
    'person, `processing` is with the payment processor, and `completed`, `failed` and `cancelled` are final. A refund ' +
    'can stay pending for days; do not poll it in a loop. `amount` is in minor units (1050 is 10.50 USD).',
  scope: 'refunds:read',
  annotations: { readOnlyHint: true, openWorldHint: false },
  input: refundIdInput,
  outputs: [refundOutput],
  async run(deps, key, { refundId }) {
    return { refund: toPublicRefund(await readRefund(deps.refundReads, key, refundId)) };
  },
});

export const cancelRefundTool = defineTool({
  name: 'cancel_refund',
  title: 'Cancel refund',
  description:
    'Cancels a refund that is `pending` or `processing`. A refund that was not sent to the payment processor yet is ' +
    'cancelled at once. Otherwise the processor has to confirm, and the error refund_not_cancellable says when it has ' +
    'not: then read the refund with get_refund instead of cancelling again. A refund that is `completed`, `failed` or ' +
    "`cancelled` cannot be cancelled. An agent key cancels only refunds that it requested. Cancelling can't be undone.",
  scope: 'refunds:write',
  annotations: { readOnlyHint: false, destructiveHint: true, idempotentHint: true, openWorldHint: true },
  input: refundIdInput,
  outputs: [refundOutput],
  async run(deps, apiKey, { refundId }) {
    const asked = await cancellationBy(deps.refundReads, apiKey, refundId, null);
    const verdict = await cancelAndWait(deps, asked, deps.settings.CANCEL_WAIT_MS);
    if (verdict.kind !== 'cancelled') throw cancellationRefused(verdict);
    return { refund: toPublicRefund(verdict.refund) };
  },
});

/** The filters of the API. In a query string everything is text, and metadata is written in another way. */
const filters = jsonObject({
  ...listRefundsQuerySchema.shape,
  metadata: z
    .record(z.string(), z.string({ error: 'must be a string, number or boolean' }).meta(scalarMeta), {
      error: 'must be an object',
    })
    .optional()
    .meta({
      description: 'Only refunds with these values in the first level of their metadata. Compared as text.',
      examples: [{ ticket: 'T-1001' }],
    }),
});

export const listRefundsTool = defineTool({
  name: 'list_refunds',
  title: 'List refunds',
  description:
    'Lists refunds, newest first; all filters that are given have to match. Use it to find out whether a payment was ' +
    'refunded before (`transactionId`), and what awaits approval (`status: "pending"`). A page with fewer refunds than ' +
    '`limit` (25 by default) is the last one; continue with `after` set to the id of the last refund. Amounts are in ' +
    'minor units (1050 is 10.50 USD).',
  scope: 'refunds:read',
  annotations: { readOnlyHint: true, openWorldHint: false },
  input: z.preprocess(asQuery, filters),
  outputs: [z.object({ refunds: z.array(refundSchema) })],
  async run(deps, key, listing) {
    const refunds = await listRefunds(deps.refundReads, key, listing);
    return { refunds: refunds.map(toPublicRefund) };
  },
});

/** Numbers and booleans as text, also in metadata. */
function asQuery(given: unknown): unknown {
  return mapValues(given, (value) => mapValues(asText(value), asText));
}

function asText(value: unknown): unknown {
  return typeof value === 'number' || typeof value === 'boolean' ? String(value) : value;
}

function mapValues(object: unknown, change: (value: unknown) => unknown): unknown {
  if (typeof object !== 'object' || object === null || Array.isArray(object)) return object;
  return Object.fromEntries(Object.entries(object).map(([name, value]) => [name, change(value)]));
}
