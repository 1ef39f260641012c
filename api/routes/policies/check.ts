import { examinePayment } from '../../../shared/refunds/lifecycle/check-policy.ts';
import { callerOf } from '../../http/authenticate.ts';
import type { ApiDependencies } from '../../http/dependencies.ts';
import { errorResponses } from '../../http/error-schema.ts';
import { dataResponse } from '../../http/response-schema.ts';
import type { Api } from '../../http/route.ts';
import { checkPolicySchema, policyCheckSchema } from './policy-schema.ts';

/** `POST /v1/policies/check`: whether a payment may be refunded; nothing is changed. */
export function checkPolicyRoute(app: Api, deps: ApiDependencies): void {
  app.post(
    '/v1/policies/check',
    {
      schema: {
        operationId: 'checkPolicy',
        summary: 'Check refund eligibility',
        description:
          "Asks the organization's policies. A payment that may not be refunded is answered with 200.",
        tags: ['Policies'],
        security: [{ apiKey: [] }],
        body: checkPolicySchema,
        response: {
          200: dataResponse('The verdict, also when it is no.', policyCheckSchema),
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
