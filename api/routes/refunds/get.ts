import { z } from 'zod';
import { canBeCancelled } from '../../../shared/refunds/lifecycle/cancel.ts';
import { type RefundDetails, toFailure, toPublicRefund } from '../../../shared/refunds/model/refund.ts';
import { isTerminal } from '../../../shared/refunds/model/states.ts';
import { readRefund } from '../../../shared/refunds/queries/find-refunds.ts';
import type { ApiDependencies } from '../../http/dependencies.ts';
import { operation } from '../../http/operation.ts';
import { onlyOnce } from '../../http/query-parameters.ts';
import { waitingHeadersSchema } from '../../http/request-headers.ts';
import { dataResponse } from '../../http/route.ts';
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

export const getRefundOperation = operation({
  id: 'getRefund',
  method: 'GET',
  path: '/v1/refunds/:id',
  scope: 'refunds:read',
  tag: 'Refunds',
  summary: 'Get a refund',
  description: 'With `Prefer: wait=N` it responds when the status changes, or after N seconds.',
  headers: waitingHeadersSchema,
  params: refundParamsSchema,
  query: getRefundQuerySchema,
  response: dataResponse('The refund.', detailedRefundSchema),
  async run(deps, { apiKey, params, query, waitMs }) {
    const refund = await readRefund(deps.refundReads, apiKey, params.id);
    return { data: withIncluded(await whenChanged(deps, refund, waitMs(0)), query.include) };
  },
});

function withIncluded(
  refund: RefundDetails,
  included: readonly string[] = [],
): z.output<typeof detailedRefundSchema> {
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
