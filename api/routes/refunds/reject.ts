import { z } from 'zod';
import { checkGivenReason, rejectRefund } from '../../../shared/refunds/decisions/approve.ts';
import { optionalJsonBody } from '../../http/body.ts';
import { dataResponse, errorResponses, routePlugin } from '../../http/route.ts';
import { refundAfter, refundToDecide } from './decision-answer.ts';
import { checkedBy, objectError, refundParamsSchema, refundSchema } from './refund-schema.ts';

const rejectRefundSchema = z
  .strictObject(
    {
      reason: z
        .string({ error: 'must be a string' })
        .superRefine(checkedBy(checkGivenReason))
        .nullish()
        .meta({ description: 'Up to 500 characters, for the timeline and the audit log.' }),
    },
    { error: objectError },
  )
  .meta({ examples: [{ reason: 'The customer wants an exchange.' }] });

/** `POST /v1/refunds/:id/reject`: cancels a refund that awaits approval. */
export const rejectRefundRoute = routePlugin(
  { name: 'reject-refund', dependencies: ['authenticate'] },
  async (app) => {
    const { deps } = app;
    await app.register(optionalJsonBody);
    app.post(
      '/v1/refunds/:id/reject',
      {
        schema: {
          operationId: 'rejectRefund',
          summary: 'Reject a refund',
          description:
            'A refund that awaits approval is cancelled and never sent. Its amount becomes refundable again.',
          tags: ['Refunds'],
          security: [{ apiKey: ['refunds:approve'] }],
          params: refundParamsSchema,
          body: rejectRefundSchema.nullish(),
          response: {
            200: dataResponse('The refund is cancelled.', refundSchema),
            ...errorResponses(
              'not_found',
              'refund_not_pending',
              'payload_too_large',
              'unsupported_media_type',
            ),
          },
        },
      },
      async (request) => {
        const refund = await refundToDecide(deps.refundReads, request, request.params.id);
        const reason = request.body?.reason ?? null;
        return { data: refundAfter(await rejectRefund(deps, refund, `key:${request.apiKey.id}`, reason)) };
      },
    );
  },
);
