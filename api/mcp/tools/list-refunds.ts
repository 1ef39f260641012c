import { z } from 'zod';
import { toPublicRefund } from '../../../shared/refunds/model/refund.ts';
import { listRefunds } from '../../../shared/refunds/queries/find-refunds.ts';
import { listRefundsQuerySchema, scalarMeta } from '../../routes/refunds/list.ts';
import { objectError, refundSchema } from '../../routes/refunds/refund-schema.ts';
import { defineTool } from './tool.ts';

/** The filters of the API. In a query string everything is text, and metadata is written in another way. */
const filters = z.strictObject(
  {
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
  },
  { error: objectError },
);

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
