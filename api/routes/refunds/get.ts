import { type ReadRefund, toPublicRefund } from '../../../shared/refunds/model/refund.ts';
import { isTerminal } from '../../../shared/refunds/model/states.ts';
import { readRefund } from '../../../shared/refunds/queries/find-refunds.ts';
import { callerOf } from '../../http/authenticate.ts';
import type { ApiDependencies } from '../../http/dependencies.ts';
import { errorResponses } from '../../http/error-schema.ts';
import { waitingHeadersSchema } from '../../http/header-schemas.ts';
import { readWaitPreference } from '../../http/prefer.ts';
import { dataResponse } from '../../http/response-schema.ts';
import type { Api } from '../../http/route.ts';
import { refundParamsSchema, refundSchema } from './refund-schema.ts';

/** `GET /v1/refunds/:id`: where a refund stands, or with `Prefer: wait=N` where it stands once that has changed. */
export function getRefundRoute(app: Api, deps: ApiDependencies): void {
  app.get(
    '/v1/refunds/:id',
    {
      schema: {
        operationId: 'getRefund',
        summary: 'Get a refund',
        description: 'With `Prefer: wait=N` the answer comes when the status changes, or after N seconds.',
        tags: ['Refunds'],
        security: [{ apiKey: [] }],
        headers: waitingHeadersSchema,
        params: refundParamsSchema,
        response: {
          200: dataResponse('The refund as it stands.', refundSchema),
          ...errorResponses('not_found'),
        },
      },
    },
    async (request, reply) => {
      const refund = await readRefund(deps.refundReads, callerOf(request), request.params.id);
      const { waitMs, applied } = readWaitPreference(request.headers.prefer, 0, deps.settings.MAX_WAIT_MS);
      if (applied !== null) reply.header('preference-applied', applied);
      return { data: toPublicRefund(await whenChanged(deps, refund, waitMs)) };
    },
  );
}

async function whenChanged(deps: ApiDependencies, refund: ReadRefund, waitMs: number): Promise<ReadRefund> {
  if (isTerminal(refund.status)) return refund;
  const hasChanged = (latest: ReadRefund) => latest.status !== refund.status;
  return (await deps.watcher.waitFor(refund.id, hasChanged, waitMs)) ?? refund;
}
