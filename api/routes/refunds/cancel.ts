import type { z } from 'zod';
import type { Refund } from '../../../shared/db.ts';
import { ServiceError } from '../../../shared/errors.ts';
import { findOwnRefund } from '../../../shared/refunds/find-refunds.ts';
import { toPublicRefund } from '../../../shared/refunds/refund.ts';
import { callerOf } from '../../authenticate.ts';
import type { ApiDependencies } from '../../dependencies.ts';
import type { Answer } from '../../idempotency.ts';
import { answerOnce } from '../../idempotency-header.ts';
import { readWaitPreference } from '../../prefer.ts';
import { cancelAndWait } from '../../refund-cancellation.ts';
import type { Api } from '../../route.ts';
import { errorResponses } from '../../schemas/error.ts';
import { idempotentHeadersSchema } from '../../schemas/headers.ts';
import { refundParamsSchema, refundSchema } from '../../schemas/refund.ts';
import { dataResponse } from '../../schemas/response.ts';

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
            'idempotency_in_progress',
            'payload_too_large',
            'idempotency_key_reused',
          ),
        },
      },
    },
    async (request, reply) => {
      const { CANCEL_WAIT_MS, MAX_WAIT_MS } = deps.settings;
      const { waitMs, applied } = readWaitPreference(request.headers.prefer, CANCEL_WAIT_MS, MAX_WAIT_MS);
      const caller = callerOf(request);
      const { status, body } = await answerOnce(deps, request, reply, async () => {
        const refund = await findOwnRefund(deps.db, caller, request.params.id);
        return await answerFor(deps, refund, `key:${caller.id}`, waitMs);
      });
      if (applied !== null) reply.header('preference-applied', applied);
      return reply.code(status as 200).send(body as { data: z.output<typeof refundSchema> });
    },
  );
}

async function answerFor(
  deps: ApiDependencies,
  refund: Refund,
  actor: string,
  waitMs: number,
): Promise<Answer> {
  const verdict = await cancelAndWait(deps, refund, actor, waitMs);
  if (verdict.kind === 'cancelled') return { status: 200, body: { data: toPublicRefund(verdict.refund) } };
  throw new ServiceError('refund_not_cancellable', messageFor(verdict.refund));
}

function messageFor({ status, cancelRequestedAt }: Refund): string {
  if (status !== 'processing') return `The refund is ${status} and cannot be cancelled any more.`;
  return cancelRequestedAt === null
    ? 'The refund is processing and the processor does not take it back; get it to see how it ends.'
    : 'The refund is processing; the processor was asked and has not confirmed yet. Get the refund to see how it ends.';
}
