import { z } from 'zod';
import type { ApiKey } from '../../../shared/platform/database.ts';
import { ServiceError } from '../../../shared/platform/errors.ts';
import {
  approveRefund,
  checkGivenReason,
  type DecidedRefund,
  type DecisionOutcome,
  rejectRefund,
} from '../../../shared/refunds/decisions/approve.ts';
import { type PublicRefund, toPublicRefund } from '../../../shared/refunds/model/refund.ts';
import { type RefundReads, readRefund } from '../../../shared/refunds/queries/find-refunds.ts';
import { operation } from '../../http/operation.ts';
import { dataResponse } from '../../http/route.ts';
import { checkedBy, jsonObject, refundParamsSchema, refundSchema } from './refund-schema.ts';

const rejectRefundSchema = jsonObject({
  reason: z
    .string({ error: 'must be a string' })
    .superRefine(checkedBy(checkGivenReason))
    .nullish()
    .meta({ description: 'Up to 500 characters, for the timeline and the audit log.' }),
}).meta({ examples: [{ reason: 'The customer wants an exchange.' }] });

/** Decide about a refund that awaits approval. */
export const decisionOperations = [
  operation({
    id: 'approveRefund',
    method: 'POST',
    path: '/v1/refunds/:id/approve',
    scope: 'refunds:approve',
    tag: 'Refunds',
    summary: 'Approve a refund',
    description:
      'A refund that awaits approval is sent to its processor. It takes two people: neither the key that requested the ' +
      'refund may approve it, nor any other key of the person behind that key or of someone whom a recent invitation connects ' +
      'with that person. A body is ignored.',
    params: refundParamsSchema,
    response: dataResponse('The refund is approved and on its way.', refundSchema),
    errors: ['refund_not_pending', 'refund_flagged'],
    async run(deps, { apiKey, actor, params }) {
      const refund = await refundToDecide(deps.refundReads, apiKey, params.id);
      return { data: refundAfter(await approveRefund(deps, refund, actor)) };
    },
  }),

  operation({
    id: 'rejectRefund',
    method: 'POST',
    path: '/v1/refunds/:id/reject',
    scope: 'refunds:approve',
    tag: 'Refunds',
    summary: 'Reject a refund',
    description:
      'A refund that awaits approval is cancelled and never sent. Its amount becomes refundable again.',
    params: refundParamsSchema,
    body: rejectRefundSchema.nullish(),
    response: dataResponse('The refund is cancelled.', refundSchema),
    errors: ['refund_not_pending'],
    async run(deps, { apiKey, actor, params, body }) {
      const refund = await refundToDecide(deps.refundReads, apiKey, params.id);
      return { data: refundAfter(await rejectRefund(deps, refund, actor, body?.reason ?? null)) };
    },
  }),
];

/**
 * The refund that a key decides about.
 * @throws ServiceError not_found
 */
async function refundToDecide(reads: RefundReads, apiKey: ApiKey, id: string): Promise<DecidedRefund> {
  return { ...(await readRefund(reads, apiKey, id)), environment: apiKey.environment };
}

/**
 * The refund after a decision.
 * @throws ServiceError refund_not_pending or refund_flagged when nothing was changed.
 */
function refundAfter({ kind, refund }: DecisionOutcome): PublicRefund {
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
