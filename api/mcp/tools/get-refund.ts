import { toPublicRefund } from '../../../shared/refunds/model/refund.ts';
import { readRefund } from '../../../shared/refunds/queries/find-refunds.ts';
import { refundIdInput, refundOutput } from './refund-fields.ts';
import { defineTool } from './tool.ts';

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
