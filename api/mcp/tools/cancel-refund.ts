import { cancelAndWait } from '../../../shared/refunds/lifecycle/cancel.ts';
import { toPublicRefund } from '../../../shared/refunds/model/refund.ts';
import { cancellationBy, cancellationRefused } from '../../routes/refunds/cancel.ts';
import { refundIdInput, refundOutput } from './refund-fields.ts';
import { defineTool } from './tool.ts';

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
