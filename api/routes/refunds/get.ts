import { z } from 'zod';
import { canBeCancelled } from '../../../shared/refunds/lifecycle/cancel.ts';
import {
  type PublicRefund,
  type RefundDetails,
  type RefundFailure,
  toFailure,
  toPublicRefund,
} from '../../../shared/refunds/model/refund.ts';
import { isTerminal } from '../../../shared/refunds/model/states.ts';
import { readRefund } from '../../../shared/refunds/queries/find-refunds.ts';
import type { ApiDependencies } from '../../http/dependencies.ts';
import { onlyOnce } from '../../http/query-parameters.ts';
import { readWaitPreference, waitingHeadersSchema } from '../../http/request-headers.ts';
import { dataResponse, errorResponses, routePlugin } from '../../http/route.ts';
import { exampleRefund, failureSchema, refundParamsSchema, refundSchema } from './refund-schema.ts';

const includable: readonly string[] = ['failure', 'cancellable'];

const getRefundQuerySchema = z.object({
  include: z
    .string({ error: onlyOnce })
    .transform((text) => text.split(','))
    .refine((names) => names.every((name) => includable.includes(name)), {
      error: `must be a comma-separated list of: ${includable.join(', ')}`,
    })
    .optional()
    .meta({
      description: 'Fields to add to the refund, separated by commas.',
      type: 'array',
      items: { type: 'string', enum: includable },
      style: 'form',
      explode: false,
      examples: [includable],
    }),
});

const detailedRefundSchema = refundSchema
  .extend({
    failure: failureSchema.nullable().optional().meta({
      description: 'With `include=failure`: why the refund failed; null for any other status.',
    }),
    cancellable: z
      .boolean()
      .optional()
      .meta({ description: 'With `include=cancellable`: whether a cancellation sent now can succeed.' }),
  })
  .meta({
    id: 'DetailedRefund',
    description: 'A refund, with the fields that were asked for.',
    examples: [exampleRefund, { ...exampleRefund, failure: null, cancellable: false }],
  });

/** `GET /v1/refunds/:id`: a refund, with `Prefer: wait=N` once its status has changed. */
export const getRefundRoute = routePlugin(
  { name: 'get-refund', dependencies: ['authenticate'] },
  async (app) => {
    const { deps } = app;
    app.get(
      '/v1/refunds/:id',
      {
        schema: {
          operationId: 'getRefund',
          summary: 'Get a refund',
          description: 'With `Prefer: wait=N` it responds when the status changes, or after N seconds.',
          tags: ['Refunds'],
          security: [{ apiKey: ['refunds:read'] }],
          headers: waitingHeadersSchema,
          params: refundParamsSchema,
          querystring: getRefundQuerySchema,
          response: {
            200: dataResponse('The refund.', detailedRefundSchema),
            ...errorResponses('not_found'),
          },
        },
      },
      async (request, reply) => {
        const refund = await readRefund(deps.refundReads, request.apiKey, request.params.id);
        const { waitMs, applied } = readWaitPreference(request.headers.prefer, 0, deps.settings.MAX_WAIT_MS);
        if (applied !== null) reply.header('preference-applied', applied);
        return { data: withIncluded(await whenChanged(request.deps, refund, waitMs), request.query.include) };
      },
    );
  },
);

type DetailedRefund = PublicRefund & { failure?: RefundFailure | null; cancellable?: boolean };

function withIncluded(refund: RefundDetails, included: readonly string[] = []): DetailedRefund {
  return {
    ...toPublicRefund(refund),
    ...(included.includes('failure')
      ? { failure: refund.status === 'failed' ? toFailure(refund) : null }
      : {}),
    ...(included.includes('cancellable') ? { cancellable: canBeCancelled(refund) } : {}),
  };
}

async function whenChanged(
  deps: ApiDependencies,
  refund: RefundDetails,
  waitMs: number,
): Promise<RefundDetails> {
  if (isTerminal(refund.status)) return refund;
  const hasChanged = (latest: RefundDetails) => latest.status !== refund.status;
  return (await deps.whileWaiting(() => deps.watcher.waitFor(refund.id, hasChanged, waitMs))) ?? refund;
}
