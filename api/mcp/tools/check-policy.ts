import { z } from 'zod';
import { checkPolicy, checkPolicySchema, policyCheckSchema } from '../../routes/policies/check.ts';
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
  input: checkPolicySchema,
  outputs: [z.object({ policy: policyCheckSchema })],
  run: async (deps, apiKey, input) => ({ policy: await checkPolicy(deps, apiKey, input, 'mcp') }),
});
