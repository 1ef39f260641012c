import { z } from 'zod';
import { examinePayment } from '../../../shared/refunds/lifecycle/check-policy.ts';
import { callerOf } from '../../http/authenticate.ts';
import type { ApiDependencies } from '../../http/dependencies.ts';
import { errorResponses } from '../../http/error-schema.ts';
import { dataResponse } from '../../http/response-schema.ts';
import type { Api } from '../../http/route.ts';
import { amountSchema, objectError, transactionIdSchema } from '../refunds/refund-schema.ts';

const checkPolicySchema = z
  .strictObject(
    { transactionId: transactionIdSchema, amount: amountSchema.optional() },
    { error: objectError },
  )
  .meta({ id: 'CheckPolicy', examples: [{ transactionId: 'ch_3QfX2eLkdIwHu7ix', amount: 1500 }] });

const policyCheckSchema = z
  .object({
    eligible: z
      .boolean()
      .meta({ description: 'Whether the payment, or the amount asked for, may be refunded.' }),
    reason: z.string().meta({ description: 'The decision in words.' }),
    maxAmount: z.int().nullable().meta({
      description: 'The most that can be refunded now, in minor units; null when no amount can be refunded.',
    }),
    deadline: z
      .string()
      .nullable()
      .meta({ format: 'date-time', description: 'The last moment for a refund; null without one.' }),
    conditions: z.array(z.string()).meta({ description: 'The limits that apply to this payment, in words.' }),
  })
  .meta({
    id: 'PolicyCheck',
    examples: [
      {
        eligible: true,
        reason: 'The transaction can be refunded.',
        maxAmount: 10000,
        deadline: '2026-12-19T09:30:00.000Z',
        conditions: ['Refunds are possible within 30 days of the payment.'],
      },
    ],
  });

/** `POST /v1/policies/check`: whether a payment may be refunded; changes nothing. */
export function checkPolicyRoute(app: Api, deps: ApiDependencies): void {
  app.post(
    '/v1/policies/check',
    {
      schema: {
        operationId: 'checkPolicy',
        summary: 'Check refund eligibility',
        description:
          "Evaluates the organization's policies and changes nothing. The answer is 200 also when no refund is allowed.",
        tags: ['Policies'],
        security: [{ apiKey: [] }],
        body: checkPolicySchema,
        response: {
          200: dataResponse('The decision.', policyCheckSchema),
          ...errorResponses('payload_too_large', 'unsupported_media_type', 'processor_error'),
        },
      },
    },
    async (request) => {
      const { organizationId, environment } = callerOf(request);
      const { transactionId, amount } = request.body;
      const asked = amount === undefined ? null : BigInt(amount);
      const { verdict } = await examinePayment(deps, {
        organizationId,
        environment,
        transactionId,
        request: { amount: asked, reason: null, metadata: null, initiatedBy: 'api' },
      });
      const { eligible, reason, maxAmount, deadline, conditions } = verdict;
      return {
        data: {
          eligible,
          reason,
          maxAmount: maxAmount === null ? null : Number(maxAmount),
          deadline: deadline?.toISOString() ?? null,
          conditions,
        },
      };
    },
  );
}
