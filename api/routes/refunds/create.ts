import type { Refund } from '../../../shared/platform/database.ts';
import { ServiceError } from '../../../shared/platform/errors.ts';
import { createRefund } from '../../../shared/refunds/lifecycle/create.ts';
import type { WatchedRefund } from '../../../shared/refunds/lifecycle/refund-watcher.ts';
import { asCreated, type PublicRefund, toPublicRefund } from '../../../shared/refunds/model/refund.ts';
import { nothingLeft } from '../../../shared/refunds/model/refusals.ts';
import { callerOf } from '../../http/authenticate.ts';
import type { ApiDependencies } from '../../http/dependencies.ts';
import { errorResponses } from '../../http/error-schema.ts';
import { idempotentHeadersSchema } from '../../http/header-schemas.ts';
import { fingerprintOf, readIdempotencyKey } from '../../http/idempotency-header.ts';
import { readWaitPreference } from '../../http/prefer.ts';
import { dataResponse } from '../../http/response-schema.ts';
import type { Api } from '../../http/route.ts';
import { createRefundSchema, refundSchema } from './refund-schema.ts';

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
      const key = readIdempotencyKey(request);
      const { CREATE_WAIT_MS, MAX_WAIT_MS } = deps.settings;
      const preference = readWaitPreference(request.headers.prefer, CREATE_WAIT_MS, MAX_WAIT_MS);
      const { refund, isReplayed } = await createRefund(deps, {
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
        idempotency: key === null ? null : { key, fingerprint: fingerprintOf(operation, request.body) },
      });
      if (isReplayed) reply.header('idempotent-replayed', 'true');
      if (preference.applied !== null) reply.header('preference-applied', preference.applied);
      return { data: await answerFor(deps, refund, preference.waitMs, isReplayed) };
    },
  );
}

/** What keys are bound to, besides the body. */
const operation = 'POST /v1/refunds';

/** Waits for the verdict and answers it; an outcome that is not known yet is no error. */
async function answerFor(
  deps: ApiDependencies,
  created: Refund,
  waitMs: number,
  isReplayed: boolean,
): Promise<PublicRefund> {
  const waits = created.status === 'processing' && created.externalRefundId === null;
  const latest = (waits ? await deps.watcher.waitFor(created.id, hasVerdict, waitMs) : null) ?? created;
  if (latest.status === 'failed' && latest.externalRefundId === null) throw rejectionOf(latest);
  // Whoever repeats a request wants to know where the refund stands by now.
  return isReplayed || latest.status === 'pending' ? toPublicRefund(latest) : asCreated(latest);
}

function hasVerdict(refund: WatchedRefund): boolean {
  return refund.externalRefundId !== null || refund.status !== 'processing';
}

/** What a client gets whose refund failed while it was created. */
function rejectionOf({
  failureCode,
  failureMessage,
}: Pick<Refund, 'failureCode' | 'failureMessage'>): ServiceError {
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
