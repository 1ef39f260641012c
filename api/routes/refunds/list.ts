import { z } from 'zod';
import { toPublicRefund } from '../../../shared/refunds/model/refund.ts';
import { refundStatuses } from '../../../shared/refunds/model/states.ts';
import { listRefunds } from '../../../shared/refunds/queries/find-refunds.ts';
import { dataResponse, errorResponses, routePlugin } from '../../http/route.ts';
import { refundSchema } from './refund-schema.ts';

/** A number in a query string; `fallback` when it is left out. */
export const wholeNumber = (description: string, least: number, greatest: number, fallback: number) =>
  z
    .string({ error: 'must be given once' })
    .regex(/^\d{1,15}$/, { error: `must be a whole number from ${least} to ${greatest}` })
    .transform(Number)
    .pipe(
      z
        .int()
        .min(least, { error: `must be at least ${least}` })
        .max(greatest, { error: `must be at most ${greatest}` }),
    )
    .default(fallback)
    // Clients send an integer, which arrives as text.
    .meta({
      description,
      type: 'integer',
      minimum: least,
      maximum: greatest,
      default: fallback,
      pattern: undefined,
    });

export const listRefundsQuerySchema = z.object({
  status: z
    .enum(refundStatuses, { error: `must be one of: ${refundStatuses.join(', ')}` })
    .optional()
    .meta({ description: 'Only refunds with this status.' }),
  processor: z
    .string({ error: 'must be given once' })
    .min(1, { error: 'must not be empty' })
    .max(50, { error: 'must have at most 50 characters' })
    .regex(/^[\x21-\x7e]*$/, { error: 'must contain visible ASCII characters only' })
    .optional()
    .meta({ description: 'Only refunds at this processor.', examples: ['stripe'] }),
  limit: wholeNumber('The maximum number of refunds to return.', 1, 100, 25),
  offset: wholeNumber('How many of the newest refunds to skip.', 0, 999_999_999_999_999, 0),
});

/** `GET /v1/refunds`: the caller's refunds, newest first. */
export const listRefundsRoute = routePlugin(
  { name: 'list-refunds', dependencies: ['authenticate'] },
  async (app) => {
    const { deps } = app;
    app.get(
      '/v1/refunds',
      {
        schema: {
          operationId: 'listRefunds',
          summary: 'List refunds',
          description: 'Newest first. A page with fewer refunds than `limit` is the last one.',
          tags: ['Refunds'],
          security: [{ apiKey: ['refunds:read'] }],
          querystring: listRefundsQuerySchema,
          response: {
            200: dataResponse('One page of refunds.', z.array(refundSchema)),
            ...errorResponses(),
          },
        },
      },
      async (request) => {
        const { status, processor, limit, offset } = request.query;
        const listing = { status, processor, limit, offset };
        const refunds = await listRefunds(deps.refundReads, request.apiKey, listing);
        return { data: refunds.map(toPublicRefund) };
      },
    );
  },
);
