import type { ApiKey } from '../../../shared/platform/database.ts';
import { ServiceError } from '../../../shared/platform/errors.ts';
import {
  type Cancellation,
  type CancelVerdict,
  cancelAndWait,
} from '../../../shared/refunds/lifecycle/cancel.ts';
import { toPublicRefund } from '../../../shared/refunds/model/refund.ts';
import { type RefundReads, readRefund } from '../../../shared/refunds/queries/find-refunds.ts';
import { operation } from '../../http/operation.ts';
import { idempotentHeadersSchema } from '../../http/request-headers.ts';
import { dataResponse } from '../../http/route.ts';
import { exampleRefund, refundParamsSchema, refundSchema } from './refund-schema.ts';

export const cancelRefundOperation = operation({
  id: 'cancelRefund',
  method: 'POST',
  path: '/v1/refunds/:id/cancel',
  scope: 'refunds:write',
  tag: 'Refunds',
  summary: 'Cancel a refund',
  description:
    'A refund that was not sent to the processor yet is cancelled immediately. Otherwise the processor has to ' +
    'confirm the cancellation; until then the refund stays as it is. An agent key may cancel only refunds that it ' +
    'requested. A body is ignored.',
  headers: idempotentHeadersSchema,
  params: refundParamsSchema,
  response: dataResponse(
    'The refund is cancelled: the processor confirmed it, or never received the refund.',
    refundSchema,
    { ...exampleRefund, status: 'cancelled', updatedAt: '2026-11-20T09:30:02.000Z' },
  ),
  errors: ['refund_not_cancellable'],
  async run(deps, { apiKey, params, idempotencyKey, waitMs, setHeader }) {
    const longestMs = waitMs(deps.settings.CANCEL_WAIT_MS);
    const asked = await cancellationBy(deps.refundReads, apiKey, params.id, idempotencyKey());
    const verdict = await cancelAndWait(deps, asked, longestMs);
    if (verdict.isReplayed) setHeader('idempotent-replayed', 'true');
    if (verdict.kind === 'cancelled') return { data: toPublicRefund(verdict.refund) };
    throw cancellationRefused(verdict);
  },
});

/**
 * The request of a key to cancel a refund. The limits of an agent key say what it may refund, not whose refunds it may
 * stop, so it cancels only its own.
 * @throws ServiceError not_found; insufficient_scope for an agent key that did not request the refund.
 */
export async function cancellationBy(
  reads: RefundReads,
  apiKey: ApiKey,
  refundId: string,
  idempotencyKey: string | null,
): Promise<Cancellation> {
  const { id, organizationId, environment, agentLimits } = apiKey;
  if (agentLimits !== null && (await readRefund(reads, apiKey, refundId)).apiKeyId !== id) {
    throw new ServiceError(
      'insufficient_scope',
      'An agent key may cancel only refunds that it requested. Cancel this one with another key or in the dashboard.',
    );
  }
  return { refundId, organizationId, environment, actor: `key:${id}`, idempotencyKey };
}

/** 409: the refund was not cancelled, or not yet. */
export function cancellationRefused(verdict: CancelVerdict): ServiceError {
  return new ServiceError('refund_not_cancellable', messageFor(verdict));
}

function messageFor({ kind, refund: { status } }: CancelVerdict): string {
  if (status !== 'processing') return `The refund is ${status} and can no longer be cancelled.`;
  return kind === 'refused'
    ? 'The refund is processing and the processor refused to cancel it. Get the refund to see its outcome.'
    : 'The refund is processing and the processor has not confirmed the cancellation yet. Get the refund to see its outcome.';
}
