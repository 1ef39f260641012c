import { type ReadRefund, toPublicRefund } from '../../../shared/refunds/model/refund.ts';
import { isTerminal } from '../../../shared/refunds/model/states.ts';
import { readRefund } from '../../../shared/refunds/queries/find-refunds.ts';
import type { ApiDependencies } from '../../http/dependencies.ts';
import { readWaitPreference, waitingHeadersSchema } from '../../http/request-headers.ts';
import { dataResponse, errorResponses, routePlugin } from '../../http/route.ts';
import { refundParamsSchema, refundSchema } from './refund-schema.ts';

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
          response: {
            200: dataResponse('The refund.', refundSchema),
            ...errorResponses('not_found'),
          },
        },
      },
      async (request, reply) => {
        const refund = await readRefund(deps.refundReads, request.apiKey, request.params.id);
        const { waitMs, applied } = readWaitPreference(request.headers.prefer, 0, deps.settings.MAX_WAIT_MS);
        if (applied !== null) reply.header('preference-applied', applied);
        return { data: toPublicRefund(await whenChanged(deps, refund, waitMs)) };
      },
    );
  },
);

async function whenChanged(deps: ApiDependencies, refund: ReadRefund, waitMs: number): Promise<ReadRefund> {
  if (isTerminal(refund.status)) return refund;
  const hasChanged = (latest: ReadRefund) => latest.status !== refund.status;
  return (await deps.watcher.waitFor(refund.id, hasChanged, waitMs)) ?? refund;
}
