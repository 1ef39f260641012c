import { z } from 'zod';
import { examinePayment } from '../../../shared/refunds/lifecycle/check-policy.ts';
import { checkPolicySchema, policyCheckSchema, toPolicyCheck } from '../../routes/policies/check.ts';
import { objectError } from '../../routes/refunds/refund-schema.ts';
import { defineTool } from './tool.ts';

export const checkPolicyTool = defineTool({
  name: 'check_policy',
  title: 'Check refund policy',
  description:
    "Checks whether a payment may be refunded under the organization's policies, how much at most and until when. Use it " +
    'before you promise a refund to a customer; it changes nothing. Leave out `amount` to learn the most that can be ' +
    'refunded. `amount` and `maxAmount` are in minor units (1050 is 10.50 USD). `eligible: false` is a result, not an ' +
    'error: `reason` and `conditions` say why. The limits of your API key count as well.',
  scope: 'policies:read',
  annotations: { readOnlyHint: true, openWorldHint: true },
  input: z.strictObject(checkPolicySchema.shape, { error: objectError }),
  outputs: [z.object({ policy: policyCheckSchema })],
  async run(deps, apiKey, { transactionId, amount }) {
    const { organizationId, environment } = apiKey;
    const { verdict } = await examinePayment(deps, {
      organizationId,
      environment,
      apiKey,
      transactionId,
      request: {
        amount: amount === undefined ? null : BigInt(amount),
        reason: null,
        metadata: null,
        initiatedBy: 'mcp',
      },
    });
    return { policy: toPolicyCheck(verdict) };
  },
});
