import { approveRefund } from '../../../shared/refunds/decisions/approve.ts';
import { ignoredBody } from '../../http/body.ts';
import { dataResponse, errorResponses, routePlugin } from '../../http/route.ts';
import { refundAfter, refundToDecide } from './decision-answer.ts';
import { refundParamsSchema, refundSchema } from './refund-schema.ts';

/** `POST /v1/refunds/:id/approve`: approves a refund that awaits approval. A body is ignored. */
export const approveRefundRoute = routePlugin(
  { name: 'approve-refund', dependencies: ['authenticate'] },
  async (app) => {
    const { deps } = app;
    await app.register(ignoredBody);
    app.post(
      '/v1/refunds/:id/approve',
      {
        schema: {
          operationId: 'approveRefund',
          summary: 'Approve a refund',
          description:
            'A refund that awaits approval is sent to its processor. It takes two people: neither the key that requested the ' +
            'refund may approve it, nor any other key of the person behind that key or of someone whom a recent invitation connects ' +
            'with that person. A body is ignored.',
          tags: ['Refunds'],
          security: [{ apiKey: ['refunds:approve'] }],
          params: refundParamsSchema,
          response: {
            200: dataResponse('The refund is approved and on its way.', refundSchema),
            ...errorResponses('not_found', 'refund_not_pending', 'refund_flagged', 'payload_too_large'),
          },
        },
      },
      async (request) => {
        const refund = await refundToDecide(deps.refundReads, request, request.params.id);
        return { data: refundAfter(await approveRefund(deps, refund, `key:${request.apiKey.id}`)) };
      },
    );
  },
);
