import { z } from 'zod';
import { toPublicRefund } from '../../../shared/refunds/model/refund.ts';
import { listRefunds } from '../../../shared/refunds/queries/find-refunds.ts';
import { callerOf } from '../../http/authenticate.ts';
import type { ApiDependencies } from '../../http/dependencies.ts';
import { errorResponses } from '../../http/error-schema.ts';
import { dataResponse } from '../../http/response-schema.ts';
import type { Api } from '../../http/route.ts';
import { listRefundsQuerySchema, refundSchema } from './refund-schema.ts';

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
