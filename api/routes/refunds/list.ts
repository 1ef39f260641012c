import { z } from 'zod';
import { listRefunds } from '../../../shared/refunds/find-refunds.ts';
import { toPublicRefund } from '../../../shared/refunds/model/public-refund.ts';
import { callerOf } from '../../authenticate.ts';
import type { ApiDependencies } from '../../dependencies.ts';
import type { Api } from '../../route.ts';
import { errorResponses } from '../../schemas/error.ts';
import { listRefundsQuerySchema, refundSchema } from '../../schemas/refund.ts';
import { dataResponse } from '../../schemas/response.ts';

/** `GET /v1/refunds`: the caller's refunds, newest first. */
export function listRefundsRoute(app: Api, deps: ApiDependencies): void {
  app.get(
    '/v1/refunds',
    {
      schema: {
        operationId: 'listRefunds',
        summary: 'List refunds',
        description: 'Newest first. A page with fewer refunds than `limit` is the last one.',
        tags: ['Refunds'],
        security: [{ apiKey: [] }],
        querystring: listRefundsQuerySchema,
        response: {
          200: dataResponse('One page of refunds.', z.array(refundSchema)),
          ...errorResponses(),
        },
      },
    },
    async (request) => {
      const { status, processor, limit, offset } = request.query;
      const page = { status, processor, limit, offset };
      const refunds = await listRefunds(deps.refundReads, callerOf(request), page);
      return { data: refunds.map(toPublicRefund) };
    },
  );
}
