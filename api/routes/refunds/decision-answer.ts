import type { FastifyRequest } from 'fastify';
import { ServiceError } from '../../../shared/platform/errors.ts';
import type { DecidedRefund, DecisionOutcome } from '../../../shared/refunds/decisions/approve.ts';
import { type PublicRefund, toPublicRefund } from '../../../shared/refunds/model/refund.ts';
import { type RefundReads, readRefund } from '../../../shared/refunds/queries/find-refunds.ts';

/**
 * The refund that a key decides about.
 * @throws ServiceError not_found
 */
export async function refundToDecide(
  reads: RefundReads,
  { apiKey }: FastifyRequest,
  id: string,
): Promise<DecidedRefund> {
  return { ...(await readRefund(reads, apiKey, id)), environment: apiKey.environment };
}

/**
 * The refund after a decision.
 * @throws ServiceError refund_not_pending or refund_flagged when nothing was changed.
 */
export function refundAfter({ kind, refund }: DecisionOutcome): PublicRefund {
  if (kind === 'done') return toPublicRefund(refund);
  if (kind === 'not-pending') {
    throw new ServiceError(
      'refund_not_pending',
      `The refund is not awaiting approval: its status is ${refund.status}.`,
    );
  }
  throw new ServiceError(
    'refund_flagged',
    'The processor has a second refund with the reference of this one. Reject this refund, or dismiss its flag in the dashboard and approve it again.',
  );
}
