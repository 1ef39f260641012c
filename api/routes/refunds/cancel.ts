import { ServiceError } from '../../../shared/platform/errors.ts';
import { type CancelVerdict, cancelAndWait } from '../../../shared/refunds/lifecycle/cancel.ts';
import { toPublicRefund } from '../../../shared/refunds/model/refund.ts';
import { callerOf } from '../../http/authenticate.ts';
import type { ApiDependencies } from '../../http/dependencies.ts';
import { errorResponses } from '../../http/error-schema.ts';
import { idempotentHeadersSchema } from '../../http/header-schemas.ts';
import { readIdempotencyKey } from '../../http/idempotency-header.ts';
import { readWaitPreference } from '../../http/prefer.ts';
import { dataResponse } from '../../http/response-schema.ts';
import type { Api } from '../../http/route.ts';
import { refundParamsSchema, refundSchema } from './refund-schema.ts';

/** `POST /v1/refunds/:id/cancel`: cancels a refund, or says why that cannot be. Its body is ignored by `ignoreBodies`. */
export function cancelRefundRoute(app: Api, deps: ApiDependencies): void {
  app.post(
    '/v1/refunds/:id/cancel',
    {
      schema: {
        operationId: 'cancelRefund',
        summary: 'Cancel a refund',
        description:
          'A refund that the processor has not got is cancelled at once. Otherwise the processor is asked, and only its ' +
          'confirmation is answered with 200; until then the refund stays as it is. A body is ignored.',
        tags: ['Refunds'],
        security: [{ apiKey: [] }],
        headers: idempotentHeadersSchema,
        params: refundParamsSchema,
        response: {
          200: dataResponse(
            'The refund is cancelled: the processor confirmed it, or was never asked to refund.',
            refundSchema,
          ),
          ...errorResponses(
            'not_found',
            'refund_not_cancellable',
            'payload_too_large',
            'idempotency_key_reused',
          ),
        },
      },
    },
    async (request, reply) => {
      const { CANCEL_WAIT_MS, MAX_WAIT_MS } = deps.settings;
      const { waitMs, applied } = readWaitPreference(request.headers.prefer, CANCEL_WAIT_MS, MAX_WAIT_MS);
      const { id: apiKeyId, organizationId, environment } = callerOf(request);
      const asked = {
        refundId: request.params.id,
        organizationId,
        environment,
        actor: `key:${apiKeyId}`,
        idempotencyKey: readIdempotencyKey(request),
      };
      const verdict = await cancelAndWait(deps, asked, waitMs);
      if (verdict.isReplayed) reply.header('idempotent-replayed', 'true');
      if (applied !== null) reply.header('preference-applied', applied);
      if (verdict.kind === 'cancelled') return { data: toPublicRefund(verdict.refund) };
      throw new ServiceError('refund_not_cancellable', messageFor(verdict));
    },
  );
}

function messageFor({ kind, refund: { status } }: CancelVerdict): string {
  if (status !== 'processing') return `The refund is ${status} and cannot be cancelled any more.`;
  return kind === 'refused'
    ? 'The refund is processing and the processor does not take it back; get it to see how it ends.'
    : 'The refund is processing; the processor was asked and has not confirmed yet. Get the refund to see how it ends.';
}
