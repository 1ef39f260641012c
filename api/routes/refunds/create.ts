import type { z } from 'zod';
import type { Refund } from '../../../shared/db.ts';
import { ServiceError } from '../../../shared/errors.ts';
import { asCreated, toPublicRefund } from '../../../shared/refunds/refund.ts';
import { nothingLeft } from '../../../shared/refunds/refusals.ts';
import { type RefundRequest, requestRefund } from '../../../shared/refunds/request-refund.ts';
import { callerOf } from '../../authenticate.ts';
import type { ApiDependencies } from '../../dependencies.ts';
import type { Answer } from '../../idempotency.ts';
import { answerOnce } from '../../idempotency-header.ts';
import { readWaitPreference } from '../../prefer.ts';
import type { Api } from '../../route.ts';
import { errorResponses } from '../../schemas/error.ts';
import { idempotentHeadersSchema } from '../../schemas/headers.ts';
import { createRefundSchema, refundSchema } from '../../schemas/refund.ts';
import { dataResponse } from '../../schemas/response.ts';

/** `POST /v1/refunds`: accepts a refund and waits briefly for the processor's verdict. */
export function createRefundRoute(app: Api, deps: ApiDependencies): void {
  app.post(
    '/v1/refunds',
    {
      schema: {
        operationId: 'createRefund',
        summary: 'Create a refund',
        description:
          'Answers as soon as the processor has accepted or rejected the refund, and after a few seconds in any case: ' +
          'then the refund is on record and processed later. A rejected refund stays on record as failed.',
        tags: ['Refunds'],
        security: [{ apiKey: [] }],
        headers: idempotentHeadersSchema,
        body: createRefundSchema,
        response: {
          200: dataResponse(
            'The refund as it was created; `externalRefundId` is null while the processor has not answered yet.',
            refundSchema,
          ),
          ...errorResponses(
            'policy_denied',
            'refund_already_processed',
            'idempotency_in_progress',
            'payload_too_large',
            'unsupported_media_type',
            'idempotency_key_reused',
            'processor_error',
          ),
        },
      },
    },
    async (request, reply) => {
      const { id: apiKeyId, organizationId, environment } = callerOf(request);
      const { amount, currency, metadata = null, processor, ...rest } = request.body;
      const asked: RefundRequest = {
        ...rest,
        organizationId,
        environment,
        apiKeyId,
        initiatedBy: 'api',
        actor: `key:${apiKeyId}`,
        amount: BigInt(amount),
        currency: currency.toLowerCase(),
        processor,
        metadata,
      };
      const { CREATE_WAIT_MS, MAX_WAIT_MS } = deps.settings;
      const preference = readWaitPreference(request.headers.prefer, CREATE_WAIT_MS, MAX_WAIT_MS);
      const { status, body } = await answerOnce(deps, request, reply, async (bind) =>
        answerFor(deps, await requestRefund(deps, asked, bind), preference.waitMs),
      );
      if (preference.applied !== null) reply.header('preference-applied', preference.applied);
      return reply.code(status as 200).send(body as { data: z.output<typeof refundSchema> });
    },
  );
}

/** Waits for the verdict and answers it; an outcome that is not known yet is no error. */
async function answerFor(deps: ApiDependencies, created: Refund, waitMs: number): Promise<Answer> {
  if (created.status === 'pending') return { status: 200, body: { data: toPublicRefund(created) } };
  const latest = (await deps.watcher.waitFor(created.id, hasVerdict, waitMs)) ?? created;
  if (latest.status === 'failed') throw rejectionOf(latest);
  return { status: 200, body: { data: asCreated(latest) } };
}

function hasVerdict(refund: Refund): boolean {
  return refund.externalRefundId !== null || refund.status !== 'processing';
}

/** What a client is told whose refund failed while it waited. */
function rejectionOf({ failureCode, failureMessage }: Refund): ServiceError {
  const message = failureMessage ?? 'The processor rejected the refund.';
  switch (failureCode) {
    case 'already_refunded':
      return nothingLeft();
    case 'amount_too_large':
      return new ServiceError('validation_error', `amount: ${message}`);
    case 'currency_mismatch':
      return new ServiceError('validation_error', `currency: ${message}`);
    default:
      return new ServiceError('processor_error', message);
  }
}
