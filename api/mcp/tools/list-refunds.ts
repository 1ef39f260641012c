import { z } from 'zod';
import { toPublicRefund } from '../../../shared/refunds/model/refund.ts';
import { listRefunds } from '../../../shared/refunds/queries/find-refunds.ts';
import { listRefundsQuerySchema } from '../../routes/refunds/list.ts';
import { objectError, refundSchema } from '../../routes/refunds/refund-schema.ts';
import { defineTool } from '../tool.ts';

export const listRefundsTool = defineTool({
  name: 'list_refunds',
  title: 'List refunds',
  description:
    'Lists refunds, newest first. Filters combine with AND. Use it to find out whether a payment was refunded before, and ' +
    'what awaits approval (`status: "pending"`). A page with fewer refunds than `limit` is the last one. Amounts are in ' +
    'minor units (1050 is 10.50 USD).',
  scope: 'refunds:read',
  annotations: { readOnlyHint: true, openWorldHint: false },
  input: z.preprocess(numbersAsText, z.strictObject(listRefundsQuerySchema.shape, { error: objectError })),
  outputs: [z.object({ refunds: z.array(refundSchema) })],
  async run(deps, key, { status, processor, limit, offset }) {
    const refunds = await listRefunds(deps.refundReads, key, { status, processor, limit, offset });
    return { refunds: refunds.map(toPublicRefund) };
  },
});

/** The filters are those of a query string, in which numbers are text. */
function numbersAsText(given: unknown): unknown {
  const entries = Object.entries(given ?? {});
  return Object.fromEntries(
    entries.map(([name, value]) => [name, typeof value === 'number' ? String(value) : value]),
  );
}
